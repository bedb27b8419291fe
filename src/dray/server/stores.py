"""The stores that the settings describe: the one place that names concrete adapters.

A store that cannot be opened or used ends the command with one clear line, which comes from the adapter.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dray.cluster.identity_plan import MARK_PATH
from dray.keyspace import CLUSTER_DOMAIN, TOPICS_PREFIX
from dray.log.row_groups import EncodedGroup, GroupBytes, GroupUnreadable
from dray.meta.memory import MemoryMetaServer, MemoryMetaStore
from dray.meta.metered import MetaMetrics, MeteredMeta
from dray.meta.port import MetaError, MetaStore
from dray.meta.sqlite import SqliteMetaSettings, SqliteMetaStore
from dray.meta.urls import ETCD, OXIA
from dray.objects.metered import Metered, ObjectMetrics
from dray.objects.port import ObjectError, ObjectStore
from dray.objects.retrying import Retrying
from dray.objects.url import parse_storage_url
from dray.observe import Metrics
from dray.runtime import (
    Clock,
    Entropy,
    LazyModule,
    SystemClock,
    SystemEntropy,
    Tasks,
    Threads,
    sync_directory,
)
from dray.server.errors import StartupError
from dray.server.networked_metadata import open_etcd, open_oxia
from dray.server.object_store import open_bucket, retries_of
from dray.server.slow_start import when_available
from dray.server.store_urls import SQLITE
from dray.settings import DraySettings

if TYPE_CHECKING:
    from dray.log import parquet
else:  # a broker loads the libraries with its first Parquet file
    parquet = LazyModule("dray.log.parquet")


@dataclass(frozen=True, slots=True)
class ProcessContext:
    """What a process has before it opens any store."""

    clock: Clock
    entropy: Entropy
    tasks: Tasks
    metrics: Metrics


@dataclass(frozen=True, slots=True)
class Stores:
    """The two open stores of a cluster."""

    meta: MetaStore
    objects: ObjectStore


async def encode_group(threads: Threads, group: GroupBytes) -> EncodedGroup:
    """Decode Parquet in a thread, which also loads the libraries for it."""
    return await threads.run(_encode_group, group)


def _encode_group(group: GroupBytes) -> EncodedGroup:
    try:
        return parquet.encode_group(group)
    except ImportError as error:
        raise GroupUnreadable(f"this broker cannot read Parquet files: {error}") from error


def store_checks(stores: Stores) -> dict[str, Callable[[], Awaitable[object]]]:
    """Return the cheap requests that must succeed for a process on these stores to be ready."""
    return {
        "metadata": partial(stores.meta.get, CLUSTER_DOMAIN, TOPICS_PREFIX),
        "objects": partial(stores.objects.head, MARK_PATH),
    }


def process_context() -> ProcessContext:
    return ProcessContext(SystemClock(), SystemEntropy(), Tasks(), Metrics())


@asynccontextmanager
async def open_stores(
    settings: DraySettings, context: ProcessContext, *, waits: bool = False
) -> AsyncIterator[Stores]:
    """Open both stores; at the end, stop all tasks and close the stores.

    A process that `waits` is started together with its metadata store on the network, or before it.
    """
    open_meta, url = partial(_open_meta, settings, context), settings.metadata.url
    async with AsyncExitStack() as closing:
        try:
            if waits and url.startswith((ETCD, OXIA)):
                inner = await when_available(open_meta, url, context.clock, context.tasks)
            else:
                inner = await open_meta()
            meta = MeteredMeta(inner, MetaMetrics.on(context.metrics), context.clock)
            closing.push_async_callback(meta.close)
            objects = await _open_objects(settings, context)
            closing.push_async_callback(objects.close)
        except (MetaError, ObjectError) as error:
            raise StartupError(str(error)) from error
        closing.push_async_callback(context.tasks.stop)
        yield Stores(meta, objects)


async def _open_meta(settings: DraySettings, context: ProcessContext) -> MetaStore:
    url = settings.metadata.url
    if url.startswith(SQLITE):
        path = Path(url.removeprefix(SQLITE))
        _make_directory(path.parent, _flag(settings, path.parent, "--metadata"))
        return await SqliteMetaStore.open(
            path,
            clock=context.clock,
            entropy=context.entropy,
            tasks=context.tasks,
            settings=SqliteMetaSettings(wait_ms=settings.metadata.commit_timeout_ms),
        )
    if url.startswith((ETCD, OXIA)):
        open_store = open_etcd if url.startswith(ETCD) else open_oxia
        return await open_store(
            settings.metadata, clock=context.clock, entropy=context.entropy, tasks=context.tasks
        )
    server = MemoryMetaServer(context.clock)
    return MemoryMetaStore(server, context.clock, context.entropy, tasks=context.tasks)


async def _open_objects(settings: DraySettings, context: ProcessContext) -> ObjectStore:
    storage = settings.storage
    url = parse_storage_url(storage.url)
    if url.scheme == "file":
        directory = Path(url.path)
        _make_directory(directory, _flag(settings, directory, "--storage"))
    inner = await open_bucket(storage, context.clock)
    metered = Metered(inner, ObjectMetrics.on(context.metrics), context.clock)
    return Retrying(metered, context.clock, context.entropy, retries_of(storage))


def _flag(settings: DraySettings, directory: Path, own: str) -> str:
    """Return the flag that an error about this directory should name."""
    inside = directory.absolute().is_relative_to(Path(settings.broker.data_dir).absolute())
    return "--data-dir" if inside else own


def _make_directory(directory: Path, flag: str) -> None:
    """Create the directory of a new cluster durably.

    A directory that exists and is empty may be a disk that is not mounted; the missing cluster mark reveals
    that (see `cluster.identity`).
    """
    directory = directory.absolute()
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for made in missing:
            sync_directory(made.parent)
    except OSError as error:
        raise StartupError(
            f"cannot create the directory {directory}: {error.strerror}; fix that, or choose another {flag}"
        ) from error
