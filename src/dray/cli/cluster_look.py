"""Looking into a cluster whose stores are there, without a broker; what goes wrong is one line."""

import asyncio
from collections.abc import Awaitable, Callable
from difflib import get_close_matches
from typing import TypeVar

from dray.cli.access import cluster_access
from dray.cli.failure import Failure
from dray.cli.settings import DraySettings
from dray.cluster.topics import Topic
from dray.index import CorruptValue
from dray.log import LogError
from dray.meta.port import MetaError
from dray.objects.port import ObjectError
from dray.pipeline.access import OpenCluster
from dray.pipeline.stored_topics import all_topics
from dray.tables.port import TablesError

T = TypeVar("T")

EXPECTED = (MetaError, ObjectError, LogError, CorruptValue, TablesError)


def look_into_cluster(settings: DraySettings, look: Callable[[OpenCluster], Awaitable[T]]) -> T:
    """Open both stores, which must be there, and return what `look` finds."""
    return asyncio.run(_look(settings, look))


async def _look(settings: DraySettings, look: Callable[[OpenCluster], Awaitable[T]]) -> T:
    try:
        async with cluster_access(settings)() as cluster:
            return await look(cluster)
    except EXPECTED as error:
        raise Failure(str(error)) from error


async def chosen_topics(cluster: OpenCluster, name: str | None) -> list[Topic]:
    """Return the topic of a name, or all topics."""
    topics = await all_topics(cluster.meta)
    if name is None:
        return topics
    found = [topic for topic in topics if topic.name == name]
    if not found:
        raise Failure(f"there is no topic '{name}'{_suggestion(name, [topic.name for topic in topics])}")
    return found


def _suggestion(name: str, known: list[str]) -> str:
    """Return `; did you mean …?` or nothing."""
    close = get_close_matches(name[:249], known)
    return f"; did you mean {' or '.join(close)}?" if close else ""
