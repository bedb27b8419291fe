"""Queries of an existing cluster by its stores, without a broker."""

import asyncio
from collections.abc import Awaitable, Callable
from difflib import get_close_matches
from typing import TypeVar

from dray.cluster.topics import Topic, all_topics
from dray.index import CorruptValue
from dray.log import LogError
from dray.meta.port import MetaError
from dray.objects.port import ObjectError
from dray.scan.access import OpenCluster
from dray.server.access import cluster_access
from dray.server.errors import StartupError
from dray.settings import DraySettings
from dray.tables.port import TablesError

T = TypeVar("T")


def query_cluster(settings: DraySettings, query: Callable[[OpenCluster], Awaitable[T]]) -> T:
    """Open both stores, which must exist, and return the result of `query`."""
    return asyncio.run(_query(settings, query))


async def _query(settings: DraySettings, query: Callable[[OpenCluster], Awaitable[T]]) -> T:
    try:
        async with cluster_access(settings)() as cluster:
            return await query(cluster)
    except (MetaError, ObjectError, LogError, CorruptValue, TablesError) as error:
        raise StartupError(str(error)) from error


async def topics_named(cluster: OpenCluster, name: str | None) -> list[Topic]:
    """Return the topic of this name, or all topics; raises `StartupError` with a suggestion."""
    topics = await all_topics(cluster.meta)
    if name is None:
        return topics
    found = [topic for topic in topics if topic.name == name]
    if not found:
        close = get_close_matches(name[:249], [topic.name for topic in topics])
        suggestion = f"; did you mean {' or '.join(close)}?" if close else ""
        raise StartupError(f"there is no topic '{name}'{suggestion}")
    return found
