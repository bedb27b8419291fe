"""Simulation of a cluster, from a seed to a verdict.

Clients use several brokers on faulty stores while the brokers crash and stall. When all of it has stopped, a
new broker with reliable stores (the judge) reads everything back and sweeps, and the stores are audited. The
seed determines everything.

Some seeds have a *networked* metadata store, with up to as many meta domains as a cluster on etcd or Oxia
and the faults of `meta_network`. Others have an embedded one, which loses single requests only.
"""

import asyncio
from random import Random

from dray.ids import StreamId
from dray.log import Log, LogDamaged, LogSettings
from dray.meta.memory import MemoryMetaServer, MemoryMetaStore
from dray.objects.memory import MemoryBucket, MemoryObjects
from dray.runtime import Tasks
from dray.testing.clock import VirtualClock
from dray.testing.entropy import SeededEntropy
from dray.testing.faulty_link import FaultyLinkSettings
from dray.testing.faulty_objects import ObjectFaults
from dray.testing.meta_network import MetaNetwork, draw_network
from dray.testing.sim.audit import audit
from dray.testing.sim.batches import read_tags
from dray.testing.sim.brokers import Broker, Stores
from dray.testing.sim.checks import FinalStream, violations
from dray.testing.sim.clients import ClientContext, idempotent_producer, plain_producer, reader, trimmer
from dray.testing.sim.faults import ProcessFaults
from dray.testing.sim.history import History
from dray.testing.sim.seeds import Verdict, is_networked
from dray.testing.virtual_loop import run, virtual_loop

_STEP_SECONDS = 0.00002
_ORPHAN_TTL_S = 8.0
_LATE_S = 4.0
"""How late a request may still arrive after its sender timed out."""

SETTINGS = LogSettings(
    flush_bytes=300,
    linger_ms=5,
    puts_in_flight_max=3,
    streams_per_object_max=4,
    buffer_bytes_max=8_000,
    tail_cache_bytes_max=400,
    range_cache_bytes_max=1_000,
    index_cache_bytes_max=4_000,
    readahead_chunks=1,
    staging_markers_ahead=2,
    producer_snapshot_entries=3,
    orphan_ttl_ms=int(_ORPHAN_TTL_S * 1000),
    wal_gc_grace_ms=1_500,
)
"""Small limits, so that each is reached often."""

_NO_LINK_FAULTS = FaultyLinkSettings(refused=0, request_lost=0, answer_lost=0, late=0)


def simulate(seed: int, *, networked: bool | None = None) -> Verdict:
    """Simulate one seed, with a networked metadata store or not; if unset, the seed decides."""
    networked = is_networked(seed) if networked is None else networked
    return run(_World(seed, networked=networked).run(), seed=seed, step_seconds=_STEP_SECONDS)


class _World:
    def __init__(self, seed: int, *, networked: bool) -> None:
        self._seed = seed
        self._networked = networked
        self._factor = 3 if networked else 1
        """Networked stores are slower, so that their faults need more batches to meet."""
        self._random = Random(f"networked world {seed}" if networked else f"world {seed}")
        self._history = History()
        self._domains = self._random.choice((2, 4, 16) if networked else (1, 1, 2))
        self._streams = [
            StreamId(self._random.getrandbits(64)) for _ in range(self._random.choice((1, 2, 3)))
        ]

    async def run(self) -> Verdict:
        clock = VirtualClock(virtual_loop())
        server, bucket = MemoryMetaServer(clock), MemoryBucket(clock)
        judge = self._broker("judge", Stores(server, bucket, _NO_LINK_FAULTS, ObjectFaults()))
        await self._create_streams(judge, clock)
        attempts = self._random.choice((1, 2, 10))
        network = self._network(server, clock) if self._networked else None
        faulty = Stores(server, bucket, self._link_faults(), self._object_faults(), attempts, network)
        brokers = [
            self._broker(f"broker{number}", faulty) for number in range(self._random.choice((1, 2, 3)))
        ]
        context = ClientContext(brokers, self._streams, self._history, clock, self._random)
        faults = ProcessFaults(context, brokers, (0.5, 3.0, 2 * _ORPHAN_TTL_S))
        virtual_loop().on_step = faults.on_step
        await self._run_workload(context, faults, network)
        for broker in brokers:
            broker.crash()
        await clock.sleep(2 * _LATE_S)
        finals = await self._read_back(judge, clock)
        found = violations(self._history, finals)
        await clock.sleep(3 * _ORPHAN_TTL_S)  # the judge sweeps in the meantime
        meta = MemoryMetaStore(server, clock, SeededEntropy("audit"), tasks=Tasks())
        found += await audit(meta, MemoryObjects(bucket), self._streams, self._domains)
        return self._verdict(found, faults.crashes)

    async def _run_workload(
        self, context: ClientContext, faults: ProcessFaults, network: MetaNetwork | None
    ) -> None:
        for broker in context.brokers:
            broker.boot()
        choose = self._random
        async with asyncio.TaskGroup() as readers:
            for stream in self._streams:
                readers.create_task(reader(f"reader-{stream}", context, stream))
            async with asyncio.TaskGroup() as clients:
                for number in range(choose.randint(1, 3)):
                    batches = choose.randint(4, 16) * self._factor
                    clients.create_task(plain_producer(f"plain{number}", context, batches))
                for number in range(choose.randint(0, 2)):
                    batches = choose.randint(4, 16) * self._factor
                    clients.create_task(idempotent_producer(f"idem{number}", context, 1000 + number, batches))
                clients.create_task(trimmer(context, choose.randint(0, 2)))
                if network is not None:
                    clients.create_task(network.disturb_for(choose.uniform(2.0, 12.0)))
                await faults.inject(choose.randint(0, 12))
                faults.heal()
            context.resting.set()

    async def _create_streams(self, judge: Broker, clock: VirtualClock) -> None:
        judge.boot()
        log = await judge.wait_until_up(clock)
        for stream in self._streams:
            await judge.node.run(log.create_stream(stream))
        judge.crash()

    async def _read_back(self, judge: Broker, clock: VirtualClock) -> list[FinalStream]:
        judge.boot()
        log = await judge.wait_until_up(clock)
        finals = []
        for stream in self._streams:
            try:
                finals.append(await judge.node.run(_read_all(log, stream)))
            except LogDamaged as error:
                self._history.violate(f"I2: {error}")
        return finals

    def _broker(self, name: str, stores: Stores) -> Broker:
        return Broker(name, self._seed, stores, SETTINGS, self._domains)

    def _network(self, server: MemoryMetaServer, clock: VirtualClock) -> MetaNetwork:
        return MetaNetwork(server, clock, self._random, self._history.note, draw_network(self._random))

    def _link_faults(self) -> FaultyLinkSettings:
        probability = self._random.choice((0.0, 0.01, 0.05))
        return FaultyLinkSettings(
            refused=probability,
            request_lost=probability,
            answer_lost=probability,
            late=probability,
            late_ms=_LATE_S * 1000,
        )

    def _object_faults(self) -> ObjectFaults:
        probability = self._random.choice((0.0, 0.0, 0.02) if self._networked else (0.0, 0.02, 0.1, 0.2))
        return ObjectFaults(
            lost_request=probability,
            lost_answer=probability,
            late=probability,
            torn=probability,
            travel_max_s=self._random.choice((0.005, 0.05)),
            late_max_s=_LATE_S,
        )

    def _verdict(self, found: list[str], crashes: int) -> Verdict:
        return Verdict(
            self._seed,
            tuple(found),
            tuple(self._history.lines),
            self._history.acknowledged,
            crashes,
            virtual_loop().steps,
        )


async def _read_all(log: Log, stream: StreamId) -> FinalStream:
    head = await log.head(stream)
    batches: list[tuple[int, int, str]] = []
    offset = head.log_start
    while offset < head.high_watermark:
        found = await log.read(stream, offset, 1 << 20)
        batches.extend(read_tags(found.parts))
        offset = found.next_offset
    return FinalStream(stream, head.log_start, head.high_watermark, tuple(batches))
