"""Logs on shared memory stores, on the virtual loop, with a link and an object store that obey the test."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, Literal, TypeVar

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
    domain_name,
    entries_after,
    file_gc_range,
    gc_range,
    head_key,
    object_range,
    staging_range,
)
from dray.log import Appended, Log, LogMetrics, LogParts, LogSettings
from dray.log.parquet import encode_group
from dray.log.row_groups import EncodedGroup, GroupBytes
from dray.meta.memory import AnswerLost, DirectLink, MemoryMetaServer, MemoryMetaSettings, MemoryMetaStore
from dray.meta.port import Domain, Unavailable
from dray.objects.memory import MemoryBucket
from dray.observe import Metrics
from dray.runtime import RetrySettings, SeededEntropy, Tasks
from dray.testing.clock import VirtualClock
from dray.testing.sim.batches import read_tags, tagged_batch
from dray.testing.virtual_loop import run, virtual_loop
from tests.log.objects import ObedientObjects

T = TypeVar("T")
Fault = Literal["refuse", "lose request", "lose answer"]

ONE, TWO, THREE = StreamId(1), StreamId(2), StreamId(3)
DOMAIN = MetaDomain(0)
STORE_DOMAIN = Domain(domain_name(DOMAIN))
_SEEDS = range(3)


class ObedientLink:
    """Carries requests; `faults` and `held` tell otherwise, by the name of the server's method."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.faults: dict[str, Fault] = {}
        self.held: dict[str, asyncio.Event] = {}
        """Answers of these calls wait for the event."""
        self.slow_by: Callable[[], float] | None = None
        """How long a request takes there, and its answer back."""

    async def call(self, request: Callable[[], T]) -> T:
        name = getattr(request, "func", request).__name__
        self.calls[name] += 1
        fault = self.faults.get(name)
        if fault == "refuse":
            raise Unavailable("refused by the test")
        if fault == "lose request":
            raise AnswerLost
        if self.slow_by is not None:
            await asyncio.sleep(self.slow_by())
        answer = request()
        if self.slow_by is not None:
            await asyncio.sleep(self.slow_by())
        if fault == "lose answer":
            raise AnswerLost
        if name in self.held:
            await self.held[name].wait()
        return answer

    def hold(self, name: str) -> asyncio.Event:
        self.held[name] = asyncio.Event()
        return self.held[name]


async def encode_at_once(group: GroupBytes) -> EncodedGroup:
    return encode_group(group)


class OpenLog:
    """One process's log and everything it was given."""

    def __init__(self, rig: "Rig", name: str, settings: LogSettings, domains: int) -> None:
        self.link = ObedientLink()
        self.objects = ObedientObjects(rig.bucket)
        self.tasks = Tasks()
        entropy = SeededEntropy(name)
        retry = MemoryMetaSettings(RetrySettings(first_ms=5, max_ms=20, budget_ms=100))
        self.meta = MemoryMetaStore(
            rig.server, self.link, rig.clock, entropy, tasks=self.tasks, settings=retry
        )
        self.metrics = Metrics()
        self.parts = LogParts(
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
        self.log = Log(self.parts)
        self._clock = rig.clock

    @property
    def held_bytes(self) -> int:
        return self.log._shared.budget.held

    def counted(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(name, labels) or 0.0

    async def send(self, tag: str, stream: StreamId = ONE, **said: int) -> "asyncio.Future[Appended]":
        return await self.log.append(stream, tagged_batch(tag, self._clock.now_ms(), **said))

    async def append(self, tag: str, stream: StreamId = ONE, **said: int) -> Appended:
        return await (await self.send(tag, stream, **said))

    async def produce(self, sequence: int, *, epoch: int = 0, records: int = 1) -> Appended:
        """Append as the one idempotent producer of a test; the tag is the sequence."""
        return await self.append(
            f"e{epoch}s{sequence}", producer_id=7, epoch=epoch, sequence=sequence, records=records
        )

    async def tags(self, stream: StreamId = ONE, offset: int = 0) -> list[tuple[int, int, str]]:
        """Everything from `offset` on, read in one go."""
        found = await self.log.read(stream, offset, 1 << 30)
        return list(read_tags(found.parts))


class Rig:
    """The two stores, and what is in them."""

    def __init__(self) -> None:
        self.clock = VirtualClock(virtual_loop())
        self.server = MemoryMetaServer(self.clock)
        self.bucket = MemoryBucket(self.clock)
        self.meta = MemoryMetaStore(
            self.server, DirectLink(), self.clock, SeededEntropy("rig"), tasks=Tasks()
        )

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
        """Let everything that can happen happen."""
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
        stored = await self.meta.scan(STORE_DOMAIN, *object_range(DOMAIN))
        return [decode_object(found.key, found.value) for found in stored]

    async def marks(self) -> list[FileGcMarker]:
        stored = await self.meta.scan(STORE_DOMAIN, *file_gc_range(DOMAIN))
        return [decode_file_gc(found.key, found.value) for found in stored]

    async def doomed(self) -> list[GcMarker]:
        stored = await self.meta.scan(STORE_DOMAIN, *gc_range(DOMAIN))
        return [decode_gc(found.key, found.value) for found in stored]


def simulated(body: Callable[[Rig], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Make a test of `body`: run on the virtual loop, in several orders of its steps."""

    def test() -> None:
        for seed in _SEEDS:
            simulate(body, seed)

    test.__doc__ = body.__doc__
    return test


def simulated_in_order(body: Callable[[Rig], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Make a test of `body` in which tasks run in the order they were woken, as on a real loop."""

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


def said(outcome: BaseException | Appended) -> str:
    """An outcome as a test likes to read it."""
    if isinstance(outcome, Appended):
        return f"{outcome.base_offset}{' again' if outcome.duplicate else ''}"
    return type(outcome).__name__


async def outcomes(*promises: "asyncio.Future[Appended]") -> list[str]:
    return [said(one) for one in await asyncio.gather(*promises, return_exceptions=True)]
