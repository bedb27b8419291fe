"""Opening a store only to look into it.

A look makes nothing: no directory, no metadata file. It leaves the other store alone, which is opened as one
in memory. A store in memory belongs to the process that made it; there is nothing to be seen from here.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from msgspec import structs

from dray.cli.failure import Failure
from dray.cli.settings import DraySettings
from dray.cli.wiring import SQLITE, open_stores, surroundings
from dray.meta.port import MetaError, MetaStore
from dray.objects.port import ObjectError, ObjectStore
from dray.objects.url import parse_storage_url

T = TypeVar("T")

_MEMORY = "memory:"


def look_into_metadata(settings: DraySettings, look: Callable[[MetaStore], Awaitable[T]]) -> T:
    """Return what `look` finds in the metadata store; other processes may be using it."""
    _check_metadata(settings)
    alone = structs.replace(settings, storage=structs.replace(settings.storage, url=_MEMORY))
    return asyncio.run(_look(alone, lambda meta, _: look(meta)))


def look_into_storage(settings: DraySettings, look: Callable[[ObjectStore], Awaitable[T]]) -> T:
    """Return what `look` finds in the object store."""
    _check_storage(settings)
    alone = structs.replace(settings, metadata=structs.replace(settings.metadata, url=_MEMORY))
    return asyncio.run(_look(alone, lambda _, objects: look(objects)))


def check_there(settings: DraySettings) -> None:
    """Refuse stores that are not there: opening them would make them, and they would be empty."""
    _check_metadata(settings)
    _check_storage(settings)


def _check_metadata(settings: DraySettings) -> None:
    url = settings.metadata.url
    _check(url, url.removeprefix(SQLITE), "--metadata or --data-dir")


def _check_storage(settings: DraySettings) -> None:
    url = settings.storage.url
    parsed = parse_storage_url(url)
    if parsed.scheme in ("file", "memory"):
        _check(url, parsed.path, "--storage or --data-dir")


def _check(url: str, path: str, flags: str) -> None:
    if url == _MEMORY:
        raise Failure(f"{url} is in another process's memory: give {flags}")
    if not Path(path).exists():
        raise Failure(f"there is nothing at {path}: give the cluster's {flags}")


async def _look(settings: DraySettings, look: Callable[[MetaStore, ObjectStore], Awaitable[T]]) -> T:
    async with open_stores(settings, surroundings()) as stores:
        try:
            return await look(stores.meta, stores.objects)
        except (MetaError, ObjectError) as error:
            raise Failure(str(error)) from error
