"""From settings to stores: the one place that names concrete adapters.

A store that cannot be opened or used ends the command with one clear line; what it says comes from the
adapter.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dray.cli.bucket import open_bucket, retries_of
from dray.cli.failure import Failure
from dray.cli.settings import DraySettings
from dray.cluster.identity_plan import MARK_PATH
from dray.cluster.keys import CLUSTER_DOMAIN, TOPICS_PREFIX
from dray.log.row_groups import EncodedGroup, GroupBytes, GroupUnreadable
from dray.meta.memory import DirectLink, MemoryMetaServer, MemoryMetaStore
from dray.meta.metered import MetaMetrics, MeteredMeta
from dray.meta.port import MetaError, MetaStore
from dray.meta.sqlite import SqliteMetaSettings, SqliteMetaStore
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

if TYPE_CHECKING:
    from dray.log import parquet
else:  # a broker pays for the libraries with the first Parquet file
    parquet = LazyModule("dray.log.parquet")

SQLITE = "sqlite:"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a process has before it has any store."""

    clock: Clock
    entropy: Entropy
    tasks: Tasks
    metrics: Metrics


@dataclass(frozen=True, slots=True)
class Stores:
    """The two stores of a cluster, open."""

    meta: MetaStore
    objects: ObjectStore


async def encode_group(threads: Threads, group: GroupBytes) -> EncodedGroup:
    """Decode Parquet in a thread, where the libraries for it are loaded too."""
    return await threads.run(_encode_group, group)


def _encode_group(group: GroupBytes) -> EncodedGroup:
    try:
        return parquet.encode_group(group)
    except ImportError as error:
        raise GroupUnreadable(f"this broker cannot read Parquet files: {error}") from error


def store_checks(stores: Stores) -> dict[str, Callable[[], Awaitable[object]]]:
    """Return what must succeed for a process on these stores to be ready: each is asked for little."""
    return {
        "metadata": partial(stores.meta.get, CLUSTER_DOMAIN, TOPICS_PREFIX),
        "objects": partial(stores.objects.head, MARK_PATH),
    }


def surroundings() -> Surroundings:
    return Surroundings(SystemClock(), SystemEntropy(), Tasks(), Metrics())


@asynccontextmanager
async def open_stores(settings: DraySettings, around: Surroundings) -> AsyncIterator[Stores]:
    """Open both stores, and close them and all tasks at the end."""
    async with AsyncExitStack() as closing:
        try:
            inner = await _open_meta(settings, around)
            meta = MeteredMeta(inner, MetaMetrics.on(around.metrics), around.clock)
            closing.push_async_callback(meta.close)
            objects = await _open_objects(settings, around)
            closing.push_async_callback(objects.close)
        except (MetaError, ObjectError) as error:
            raise Failure(str(error)) from error
        closing.push_async_callback(around.tasks.stop)
        yield Stores(meta, objects)


async def _open_meta(settings: DraySettings, around: Surroundings) -> MetaStore:
    url = settings.metadata.url
    if url.startswith(SQLITE):
        path = Path(url.removeprefix(SQLITE))
        _make_directory(path.parent, _flag(settings, path.parent, "--metadata"))
        return await SqliteMetaStore.open(
            path,
            clock=around.clock,
            entropy=around.entropy,
            tasks=around.tasks,
            settings=SqliteMetaSettings(wait_ms=settings.metadata.commit_timeout_ms),
        )
    server = MemoryMetaServer(around.clock)
    return MemoryMetaStore(server, DirectLink(), around.clock, around.entropy, tasks=around.tasks)


async def _open_objects(settings: DraySettings, around: Surroundings) -> ObjectStore:
    storage = settings.storage
    url = parse_storage_url(storage.url)
    if url.scheme == "file":
        directory = Path(url.path)
        _make_directory(directory, _flag(settings, directory, "--storage"))
    inner = await open_bucket(storage, around.clock)
    metered = Metered(inner, ObjectMetrics.on(around.metrics), around.clock)
    return Retrying(metered, around.clock, around.entropy, retries_of(storage))


def _flag(settings: DraySettings, directory: Path, own: str) -> str:
    """Return the flag that somebody should look at who is told of this directory."""
    inside = directory.absolute().is_relative_to(Path(settings.broker.data_dir).absolute())
    return "--data-dir" if inside else own


def _make_directory(directory: Path, flag: str) -> None:
    """Make the directory of a new cluster, so that its name outlives a power cut.

    One that was there and is empty may be a disk that is not mounted; the cluster's mark in it tells that
    (see `cluster.identity`).
    """
    directory = directory.absolute()
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for made in missing:
            sync_directory(made.parent)
    except OSError as error:
        raise Failure(
            f"cannot make the directory {directory}: {error.strerror}; mend that, or give another {flag}"
        ) from error
