"""A whole simulated cluster, from a seed to a verdict.

Clients work on several brokers over faulty stores while brokers crash and stall. Then everything is let come
to rest, a broker that trusts nobody reads everything back and sweeps, and the books are audited. The seed
decides all of it.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from dray.ids import StreamId
from dray.log import Log, LogDamaged, LogSettings
from dray.meta.memory import DirectLink, MemoryMetaServer, MemoryMetaStore
from dray.objects.faulty import FaultSettings
from dray.objects.memory import MemoryBucket, MemoryObjects
from dray.runtime import SeededEntropy, Tasks
from dray.testing.clock import VirtualClock
from dray.testing.faulty_link import FaultyLinkSettings
from dray.testing.nodes import Node
from dray.testing.sim.audit import audit
from dray.testing.sim.batches import read_tags
from dray.testing.sim.brokers import Broker, Stores
from dray.testing.sim.chaos import Chaos
from dray.testing.sim.checks import Final, violations
from dray.testing.sim.clients import Surroundings, idempotent_producer, plain_producer, reader, trimmer
from dray.testing.sim.history import Fate, History
from dray.testing.virtual_loop import run, virtual_loop

_STEP_SECONDS = 0.00002
_ORPHAN_TTL_S = 8.0
_LATE_S = 4.0
"""How long after its sender gave up on it a request may still arrive."""

SETTINGS = LogSettings(
    flush_bytes=300,
    linger_ms=5,
    puts_in_flight_max=3,
    streams_per_object_max=4,
    buffer_bytes_max=8_000,
    recent_bytes_max=400,
    range_cache_bytes_max=1_000,
    index_cache_bytes_max=4_000,
    readahead_chunks=1,
    reservations=2,
    producer_snapshot_entries=3,
    wal_orphan_ttl_ms=int(_ORPHAN_TTL_S * 1000),
    wal_gc_grace_ms=1_500,
)
"""Everything small, so that every bound is met often."""

_NO_LINK_FAULTS = FaultyLinkSettings(refused=0, request_lost=0, answer_lost=0, late=0)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one seed."""

    seed: int
    violations: tuple[str, ...]
    lines: tuple[str, ...]
    """The history, for people, and to compare two runs."""
    acknowledged: int
    crashes: int
    steps: int


def simulate(seed: int) -> Verdict:
    """Live through one seed."""
    world = _World(seed)
    return run(world.live(), seed=seed, step_seconds=_STEP_SECONDS, on_step=world.on_step)


class _World:
    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._random = Random(f"world {seed}")
        self._history = History()
        self._domains = self._random.choice((1, 1, 2))
        self._streams = [
            StreamId(self._random.getrandbits(64)) for _ in range(self._random.choice((1, 2, 3)))
        ]
        self._watch_step: Callable[[Node | None], None] | None = None

    def on_step(self, node: Node | None) -> None:
        if self._watch_step is not None:
            self._watch_step(node)

    async def live(self) -> Verdict:
        clock = VirtualClock(virtual_loop())
        server, bucket = MemoryMetaServer(clock), MemoryBucket(clock)
        judge = self._broker("judge", Stores(server, bucket, _NO_LINK_FAULTS, FaultSettings()))
        await self._create_streams(judge, clock)
        attempts = self._random.choice((1, 2, 10))
        faulty = Stores(server, bucket, self._link_faults(), self._object_faults(), attempts)
        brokers = [
            self._broker(f"broker{number}", faulty) for number in range(self._random.choice((1, 2, 3)))
        ]
        around = Surroundings(brokers, self._streams, self._history, clock, self._random)
        chaos = Chaos(around, brokers, (0.5, 3.0, 2 * _ORPHAN_TTL_S))
        self._watch_step = chaos.on_step
        await self._storm(around, chaos)
        for broker in brokers:
            broker.crash()
        await clock.sleep(2 * _LATE_S)
        finals = await self._read_back(judge, clock)
        found = violations(self._history, finals)
        await clock.sleep(3 * _ORPHAN_TTL_S)  # the judge sweeps meanwhile
        meta = MemoryMetaStore(server, DirectLink(), clock, SeededEntropy("audit"), tasks=Tasks())
        found += await audit(meta, MemoryObjects(bucket), self._streams, self._domains)
        return self._verdict(found, chaos.crashes)

    async def _storm(self, around: Surroundings, chaos: Chaos) -> None:
        for broker in around.brokers:
            broker.boot()
        choose = self._random
        async with asyncio.TaskGroup() as readers:
            for stream in self._streams:
                readers.create_task(reader(f"reader-{stream}", around, stream))
            async with asyncio.TaskGroup() as clients:
                for number in range(choose.randint(1, 3)):
                    clients.create_task(plain_producer(f"plain{number}", around, choose.randint(4, 16)))
                for number in range(choose.randint(0, 2)):
                    clients.create_task(
                        idempotent_producer(f"idem{number}", around, 1000 + number, choose.randint(4, 16))
                    )
                clients.create_task(trimmer(around, choose.randint(0, 2)))
                await chaos.rage(choose.randint(0, 12))
                chaos.calm()
            around.resting.set()

    async def _create_streams(self, judge: Broker, clock: VirtualClock) -> None:
        log = await _up(judge, clock)
        for stream in self._streams:
            await judge.node.run(log.create_stream(stream))
        judge.crash()

    async def _read_back(self, judge: Broker, clock: VirtualClock) -> list[Final]:
        log = await _up(judge, clock)
        finals = []
        for stream in self._streams:
            try:
                finals.append(await judge.node.run(_read_all(log, stream)))
            except LogDamaged as error:
                self._history.complain(f"I2: {error}")
        return finals

    def _broker(self, name: str, stores: Stores) -> Broker:
        return Broker(name, self._seed, stores, SETTINGS, self._domains)

    def _link_faults(self) -> FaultyLinkSettings:
        often = self._random.choice((0.0, 0.01, 0.05))
        return FaultyLinkSettings(
            refused=often, request_lost=often, answer_lost=often, late=often, late_ms=_LATE_S * 1000
        )

    def _object_faults(self) -> FaultSettings:
        often = self._random.choice((0.0, 0.02, 0.1, 0.2))
        return FaultSettings(
            lost_request=often,
            lost_answer=often,
            late=often,
            torn=often,
            travel_max_s=self._random.choice((0.005, 0.05)),
            late_max_s=_LATE_S,
        )

    def _verdict(self, found: list[str], crashes: int) -> Verdict:
        acknowledged = sum(sent.fate is Fate.ACKNOWLEDGED for sent in self._history.sent.values())
        return Verdict(
            self._seed,
            tuple(found),
            tuple(self._history.lines),
            acknowledged,
            crashes,
            virtual_loop().steps,
        )


async def _up(broker: Broker, clock: VirtualClock) -> Log:
    broker.boot()
    while broker.log is None:
        await clock.sleep(0.01)
    return broker.log


async def _read_all(log: Log, stream: StreamId) -> Final:
    head = await log.head(stream)
    batches: list[tuple[int, int, str]] = []
    offset = head.log_start
    while offset < head.high_watermark:
        found = await log.read(stream, offset, 1 << 20)
        batches.extend(read_tags(found.parts))
        offset = found.next_offset
    return Final(stream, head.log_start, head.high_watermark, tuple(batches))
