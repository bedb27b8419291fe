"""Access to the stores of an existing cluster, for commands, compactors and Spark, without a broker.

Nothing is created: neither a directory nor a metadata file. Spark's own processes share nothing with this
one, so they receive the settings by pickle and open the stores themselves. That includes secrets, which go
where Spark sends functions and no further.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec import structs

from dray.cluster import ClusterIdentity, IdentityError, StoreNames, find
from dray.meta.port import MetaError, MetaStore
from dray.objects.port import ObjectError, ObjectStore
from dray.objects.url import parse_storage_url
from dray.scan.access import ClusterAccess, OpenCluster, StorageAccess
from dray.server.errors import StartupError
from dray.server.object_store import open_from_settings
from dray.server.store_urls import (
    MEMORY,
    SQLITE,
    check_exist,
    check_metadata_exists,
    check_storage_exists,
)
from dray.server.stores import Stores, open_stores, process_context
from dray.settings import DraySettings

T = TypeVar("T")


def inspect_metadata(settings: DraySettings, read: Callable[[MetaStore], Awaitable[T]]) -> T:
    """Return what `read` finds in the metadata store; other processes may be using it."""
    check_metadata_exists(settings)
    alone = structs.replace(settings, storage=structs.replace(settings.storage, url=MEMORY))
    return asyncio.run(_inspect(alone, lambda meta, _: read(meta)))


def inspect_storage(settings: DraySettings, read: Callable[[ObjectStore], Awaitable[T]]) -> T:
    """Return what `read` finds in the object store."""
    check_storage_exists(settings)
    alone = structs.replace(settings, metadata=structs.replace(settings.metadata, url=MEMORY))
    return asyncio.run(_inspect(alone, lambda _, objects: read(objects)))


async def _inspect(settings: DraySettings, read: Callable[[MetaStore, ObjectStore], Awaitable[T]]) -> T:
    async with open_stores(settings, process_context()) as stores:
        try:
            return await read(stores.meta, stores.objects)
        except (MetaError, ObjectError) as error:
            raise StartupError(str(error)) from error


async def existing_cluster(settings: DraySettings, stores: Stores) -> ClusterIdentity:
    """Return the cluster in these stores; raises `StartupError` if there is none."""
    names = StoreNames(settings.metadata.url, settings.storage.url)
    try:
        identity = await find(stores.meta, stores.objects, names)
    except IdentityError as error:
        raise StartupError(str(error)) from error
    if identity is None:
        raise StartupError(
            f"there is no cluster in {names.metadata} and {names.objects}: start a broker first"
        )
    return identity


def storage_access(settings: DraySettings) -> StorageAccess:
    """Return a function that opens the object store in any process."""
    return partial(open_from_settings, _absolute(settings).storage)


def cluster_access(settings: DraySettings) -> ClusterAccess:
    """Return a function that opens both stores of an existing cluster, or raises `StartupError`."""
    return partial(_open_cluster, _absolute(settings))


def _absolute(settings: DraySettings) -> DraySettings:
    """Name the stores so that a process with another working directory finds them."""
    metadata, storage = settings.metadata, settings.storage
    url = parse_storage_url(storage.url)
    if metadata.url.startswith(SQLITE):
        path = Path(metadata.url.removeprefix(SQLITE)).absolute()
        metadata = structs.replace(metadata, url=f"{SQLITE}{path}")
    if url.scheme == "file":
        storage = structs.replace(storage, url=f"file:{Path(url.path).absolute()}")
    return structs.replace(settings, metadata=metadata, storage=storage)


@asynccontextmanager
async def _open_cluster(settings: DraySettings) -> AsyncIterator[OpenCluster]:
    check_exist(settings)
    context = process_context()
    async with open_stores(settings, context) as stores:
        identity = await existing_cluster(settings, stores)
        yield OpenCluster(
            stores.meta,
            stores.objects,
            identity.cluster_id,
            identity.domains,
            context.clock,
            context.entropy,
            context.tasks,
        )
