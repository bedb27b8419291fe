"""Logs on shared in-memory stores in virtual time, with a link and an object store that tests control."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from dray.ids import MetaDomain, StreamId
from dray.index import (
    FileGcMarker,
    GcMarker,
    IndexEntry,
    StagingMarker,
    StreamHead,
    WalEntry,
    WalObject,
    decode_entry,
    decode_file_gc,
    decode_gc,
    decode_head,
    decode_object,
    decode_staging,
)
from dray.keyspace import (
    entries_after,
    file_gc_range,
    head_key,
    log_domain,
    staging_range,
    wal_gc_range,
    wal_object_range,
)
from dray.log import Appended, Log, LogDeps, LogMetrics, LogSettings
from dray.log.parquet import encode_group
from dray.log.row_groups import EncodedGroup, GroupBytes
from dray.meta.memory import MemoryMetaServer, MemoryMetaSettings, MemoryMetaStore
from dray.objects.memory import MemoryBucket
from dray.observe import Metrics
from dray.runtime import RetrySettings, Tasks
from dray.testing.clock import VirtualClock
from dray.testing.entropy import SeededEntropy
from dray.testing.sim.batches import read_tags, tagged_batch
from dray.testing.tailing import wait_past
from dray.testing.virtual_loop import run, virtual_loop
from tests.links import ControlledLink
from tests.log.objects import ControlledObjects

T = TypeVar("T")

ONE, TWO, THREE = StreamId(1), StreamId(2), StreamId(3)
DOMAIN = MetaDomain(0)
STORE_DOMAIN = log_domain(DOMAIN)
_SEEDS = range(3)


async def encode_at_once(group: GroupBytes) -> EncodedGroup:
    return encode_group(group)


class OpenLog:
    """The log of one process, and its dependencies."""

    def __init__(self, rig: "Rig", name: str, settings: LogSettings, domains: int) -> None:
        self.link = ControlledLink()
        self.objects = ControlledObjects(rig.bucket)
        self.tasks = Tasks()
        entropy = SeededEntropy(name)
        retry = RetrySettings(first_ms=5, max_ms=20, budget_ms=100)
        self.meta = MemoryMetaStore(
            rig.server,
            rig.clock,
            entropy,
            tasks=self.tasks,
            settings=MemoryMetaSettings(retry, rig.limits),
            link=self.link,
        )
        self.metrics = Metrics()
        self.deps = LogDeps(
            self.meta,
            self.objects,
            rig.clock,
            entropy,
            self.tasks,
            settings,
            LogMetrics.on(self.metrics),
            "z1",
            domains,
            encode_at_once,
        )
        self.log = Log(self.deps)
        self._clock = rig.clock

    @property
    def held_bytes(self) -> int:
        return self.log._budget.held

    def counted(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(name, labels) or 0.0

    async def send(self, tag: str, stream: StreamId = ONE, **fields: int) -> "asyncio.Future[Appended]":
        return await self.log.append(stream, tagged_batch(tag, self._clock.now_ms(), **fields))

    async def append(self, tag: str, stream: StreamId = ONE, **fields: int) -> Appended:
        return await (await self.send(tag, stream, **fields))

    async def produce(self, sequence: int, *, epoch: int = 0, records: int = 1) -> Appended:
        """Append as the idempotent producer of a test; the tag is the sequence."""
        return await self.append(
            f"e{epoch}s{sequence}", producer_id=7, epoch=epoch, sequence=sequence, records=records
        )

    async def wait_past(self, offset: int, seconds: float, stream: StreamId = ONE) -> StreamHead:
        return await wait_past(self.log, self._clock, stream, offset, seconds)

    async def tags(self, stream: StreamId = ONE, offset: int = 0) -> list[tuple[int, int, str]]:
        """Read everything from `offset` on at once."""
        found = await self.log.read(stream, offset, 1 << 30)
        return list(read_tags(found.parts))


class Rig:
    """The two stores, and views of their contents."""

    def __init__(self) -> None:
        self.limits = MemoryMetaSettings().limits
        self.clock = VirtualClock(virtual_loop())
        self.server = MemoryMetaServer(self.clock)
        self.bucket = MemoryBucket(self.clock)
        self.meta = MemoryMetaStore(self.server, self.clock, SeededEntropy("rig"), tasks=Tasks())

    def make(self, name: str = "a", /, *, domains: int = 1, **settings: int) -> OpenLog:
        return OpenLog(self, name, LogSettings(**settings), domains)

    async def open(self, name: str = "a", /, *, domains: int = 1, **settings: int) -> OpenLog:
        """Start a log; the streams ONE to THREE exist."""
        opened = self.make(name, domains=domains, **settings)
        await opened.log.start()
        for stream in (ONE, TWO, THREE):
            await opened.log.create_stream(stream)
        return opened

    async def settle(self, seconds: float = 1.0) -> None:
        """Let all pending work run."""
        await self.clock.sleep(seconds)

    def paths(self) -> list[str]:
        return [info.path for info in self.bucket.page("", "", 1_000)]

    async def head(self, stream: StreamId = ONE) -> StreamHead:
        stored = await self.meta.get(STORE_DOMAIN, head_key(stream))
        assert stored is not None
        return decode_head(stored.key, stored.value)

    async def entries(self, stream: StreamId = ONE) -> list[IndexEntry]:
        stored = await self.meta.scan(STORE_DOMAIN, *entries_after(stream, -1))
        return [decode_entry(found.key, found.value) for found in stored]

    async def wal_entries(self, stream: StreamId = ONE) -> list[WalEntry]:
        return [entry for entry in await self.entries(stream) if isinstance(entry, WalEntry)]

    async def staged(self) -> list[StagingMarker]:
        stored = await self.meta.scan(STORE_DOMAIN, *staging_range(DOMAIN))
        return [decode_staging(found.key, found.value) for found in stored]

    async def committed(self) -> list[WalObject]:
        stored = await self.meta.scan(STORE_DOMAIN, *wal_object_range(DOMAIN))
        return [decode_object(found.key, found.value) for found in stored]

    async def marks(self) -> list[FileGcMarker]:
        stored = await self.meta.scan(STORE_DOMAIN, *file_gc_range(DOMAIN))
        return [decode_file_gc(found.key, found.value) for found in stored]

    async def pending_deletion(self) -> list[GcMarker]:
        stored = await self.meta.scan(STORE_DOMAIN, *wal_gc_range(DOMAIN))
        return [decode_gc(found.key, found.value) for found in stored]


def simulated(body: Callable[[Rig], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Make a test that runs `body` in virtual time, with several orders of its steps."""

    def test() -> None:
        for seed in _SEEDS:
            simulate(body, seed)

    test.__doc__ = body.__doc__
    return test


def simulated_in_order(body: Callable[[Rig], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Make a test that runs `body` with tasks in the order they were woken, as on a real loop."""

    def test() -> None:
        simulate(body, shuffle=False)

    test.__doc__ = body.__doc__
    return test


def simulate(
    body: Callable[[Rig], Coroutine[Any, Any, None]], seed: int = 0, *, shuffle: bool = True
) -> None:
    async def main() -> None:
        await body(Rig())

    run(main(), seed=seed, shuffle=shuffle)


def as_text(outcome: BaseException | Appended) -> str:
    """Return an outcome as text that tests compare."""
    if isinstance(outcome, Appended):
        return f"{outcome.base_offset}{' again' if outcome.duplicate else ''}"
    return type(outcome).__name__


async def outcomes(*promises: "asyncio.Future[Appended]") -> list[str]:
    return [as_text(one) for one in await asyncio.gather(*promises, return_exceptions=True)]
