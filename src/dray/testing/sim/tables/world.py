"""A cluster whose topics are tables, from a seed to a verdict.

Clients write and read on several brokers, one or two compactors turn the log into tables, brokers sweep and
keep to the retention, somebody deletes records and topics; the stores are faulty, and processes crash and
stall. An onlooker checks the rules at every commit and every deletion. Then everything is let come to rest,
and the books are audited: stream, index, table and bucket must agree to the record.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from dray.cluster.topics import Topic
from dray.ids import StreamId
from dray.log import Log, LogDamaged
from dray.meta.memory import DirectLink, MemoryMetaStore
from dray.objects.faulty import FaultSettings
from dray.objects.memory import MemoryObjects
from dray.runtime import SeededEntropy, Tasks
from dray.sweep import RetentionPolicy
from dray.testing.clock import VirtualClock
from dray.testing.nodes import Node
from dray.testing.sim.chaos import Process
from dray.testing.sim.checks import Final, violations
from dray.testing.sim.clients import idempotent_producer, plain_producer, reader
from dray.testing.sim.history import Fate, History
from dray.testing.sim.tables.books import Books
from dray.testing.sim.tables.brokers import TableStores, TopicBroker
from dray.testing.sim.tables.chaos import SteppedChaos
from dray.testing.sim.tables.clients import TopicSurroundings, deleter, leaper, snipper, table_reader
from dray.testing.sim.tables.compactors import CompactorProcess
from dray.testing.sim.tables.onlooker import Counts, Onlooker
from dray.testing.sim.tables.records import Batch, Drafts
from dray.testing.sim.tables.stores import WatchedBucket, WatchedCatalog, WatchedServer
from dray.testing.sim.tables.themes import (
    FILE_GRACE_S,
    LATE_S,
    NO_FAULTS,
    ORPHAN_TTL_S,
    SETTINGS,
    STALL_SECONDS,
    link_faults,
    object_faults,
    policy_of,
    theme_of,
)
from dray.testing.virtual_loop import run, virtual_loop

_STEP_SECONDS = 0.00002


@dataclass(frozen=True, slots=True)
class TableVerdict:
    """What came of one seed."""

    seed: int
    violations: tuple[str, ...]
    lines: tuple[str, ...]
    """The history, for people, and to compare two runs."""
    acknowledged: int
    steps: int
    counts: Counts

    @property
    def crashes(self) -> int:
        return self.counts.crashes


def simulate_tables(seed: int) -> TableVerdict:
    """Live through one seed."""
    world = _World(seed)
    return run(world.live(), seed=seed, step_seconds=_STEP_SECONDS, on_step=world.on_step)


class _World:
    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._random = Random(f"tables {seed}")
        self._history = History()
        self._theme = theme_of(self._random)
        self._domains = self._theme.domains
        self._watch_step: Callable[[Node | None], None] | None = None

    def on_step(self, node: Node | None) -> None:
        if self._watch_step is not None:
            self._watch_step(node)

    async def live(self) -> TableVerdict:
        clock = VirtualClock(virtual_loop())
        drafts = Drafts()
        onlooker = Onlooker(self._history, drafts, clock, SETTINGS)
        server, bucket = WatchedServer(clock, onlooker), WatchedBucket(clock, onlooker)
        catalog = WatchedCatalog(clock, onlooker)
        clean = TableStores(server, bucket, NO_FAULTS, FaultSettings(), catalog=catalog)
        around = self._surroundings(clock, onlooker, drafts)
        judge = self._broker("judge", clean)
        doomed = await self._create_topics(judge, around)
        await self._storm(around, self._faulty(clean), doomed)
        await clock.sleep(2 * LATE_S)
        return await self._judge(judge, clean, around)

    def _surroundings(self, clock: VirtualClock, onlooker: Onlooker, drafts: Drafts) -> TopicSurroundings:
        streams: list[StreamId] = []
        around = TopicSurroundings([], streams, self._history, clock, self._random)
        around.open_streams, around.onlooker, around.drafts = streams, onlooker, drafts
        around.pace = self._theme.pace
        return around

    async def _create_topics(self, judge: TopicBroker, around: TopicSurroundings) -> Topic | None:
        """Make the topics; returns the one that will be deleted, if any."""
        await _up(judge, around.clock)
        assert judge.topics is not None
        choose = self._random
        policy = policy_of(choose)
        configs = {
            "retention.ms": str(policy.retention_ms),
            "retention.bytes": str(policy.retention_bytes),
        }
        kept = await judge.node.run(judge.topics.create("kept", self._theme.partitions, configs))
        around.add(kept, policy)
        doomed = None
        if choose.random() < 0.4:
            doomed = await judge.node.run(judge.topics.create("doomed", choose.choice((1, 2)), {}))
            around.add(doomed, RetentionPolicy(7 * 86_400_000))
        judge.crash()
        return doomed

    async def _storm(self, around: TopicSurroundings, stores: TableStores, doomed: Topic | None) -> None:
        choose = self._random
        brokers = [
            self._broker(f"broker{number}", stores, choose.choice((0.0, 0.0, 3.0)))
            for number in range(self._theme.brokers)
        ]
        compactors = [
            self._compactor(f"compactor{number}", stores, around.onlooker)
            for number in range(self._theme.compactors)
        ]
        around.brokers = brokers
        chaos = SteppedChaos(
            around,
            [*compactors, *([] if self._theme.only_compactors_suffer else brokers)],
            STALL_SECONDS,
            stall_odds=self._theme.stall_odds,
        )
        chaos.lie_in_wait(compactors, self._theme.ambushes, self._theme.sleepers)
        self._watch_step, around.onlooker.job_changed = chaos.on_step, chaos.job_changed
        stores.committing = chaos.committing
        everybody: list[Process] = [*brokers, *compactors]
        for process in everybody:
            process.boot()
        assert stores.catalog is not None
        async with asyncio.TaskGroup() as readers:
            for stream in around.streams:
                readers.create_task(reader(f"reader-{stream}", around, stream))
            readers.create_task(leaper(around))
            readers.create_task(table_reader(around, stores.catalog, stores.bucket, 0.8 * FILE_GRACE_S))
            async with asyncio.TaskGroup() as clients:
                self._start_clients(around, clients, doomed)
                await chaos.rage(choose.randint(4, 16))
                chaos.calm()
            around.resting.set()
        for process in everybody:
            process.crash()
        around.onlooker.counts.crashes = chaos.crashes

    def _start_clients(
        self, around: TopicSurroundings, clients: asyncio.TaskGroup, doomed: Topic | None
    ) -> None:
        choose = self._random
        for number in range(self._theme.plain_producers):
            clients.create_task(plain_producer(f"plain{number}", around, choose.randint(6, 24)))
        for number in range(self._theme.idempotent_producers):
            batches = choose.randint(12, 36)
            clients.create_task(idempotent_producer(f"idem{number}", around, 1000 + number, batches))
        clients.create_task(snipper(around, self._theme.snips))
        if doomed is not None:
            clients.create_task(deleter(around, doomed, again=choose.random() < 0.5))

    async def _judge(self, judge: TopicBroker, clean: TableStores, around: TopicSurroundings) -> TableVerdict:
        """Let everything come to rest in sound processes, and see what is there."""
        clock, onlooker = around.clock, around.onlooker
        compactor = self._compactor("judging compactor", clean, onlooker, 1.5)
        compactor.boot()
        live = [stream for stream in onlooker.places if stream not in self._history.deleted]
        found = violations(self._history, await self._read_back(judge, around, live))
        self._history.complaints.clear()
        await clock.sleep(5 * ORPHAN_TTL_S)
        judge.crash()
        found += violations(self._history, await self._read_back(judge, around, live))
        judge.crash()
        compactor.crash()
        meta = MemoryMetaStore(clean.meta, DirectLink(), clock, SeededEntropy("audit"), tasks=Tasks())
        books = Books(
            meta,
            MemoryObjects(clean.bucket),
            clock,
            onlooker,
            self._domains,
            live,
            sorted(self._history.deleted),
        )
        found += await books.audit()
        return self._verdict(found, onlooker.counts)

    async def _read_back(
        self, judge: TopicBroker, around: TopicSurroundings, streams: list[StreamId]
    ) -> list[Final]:
        log = await _up(judge, around.clock)
        finals = []
        for stream in streams:
            try:
                finals.append(await _read_all(judge, log, around, stream))
            except LogDamaged as error:
                self._history.complain(f"I2: {error}")
        return finals

    def _broker(self, name: str, stores: TableStores, read_s_max: float = 0.0) -> TopicBroker:
        return TopicBroker(name, self._seed, stores, SETTINGS, self._domains, read_s_max=read_s_max)

    def _compactor(
        self, name: str, stores: TableStores, onlooker: Onlooker, rest_s: float = 0.15
    ) -> CompactorProcess:
        return CompactorProcess(
            name,
            self._seed,
            stores,
            SETTINGS,
            self._domains,
            history=self._history,
            counts=onlooker.counts,
            rest_s=rest_s,
        )

    def _faulty(self, clean: TableStores) -> TableStores:
        choose = self._random
        link = link_faults(choose)
        return replace(
            clean,
            link_faults=link,
            object_faults=object_faults(choose, self._theme.travel_s),
            object_attempts=choose.choice((2, 10)),
            table_faults=link,
        )

    def _verdict(self, found: list[str], counts: Counts) -> TableVerdict:
        acknowledged = sum(sent.fate is Fate.ACKNOWLEDGED for sent in self._history.sent.values())
        return TableVerdict(
            self._seed,
            tuple(found),
            tuple(self._history.lines),
            acknowledged,
            virtual_loop().steps,
            counts,
        )


async def _up(broker: TopicBroker, clock: VirtualClock) -> Log:
    broker.boot()
    while broker.log is None:
        await clock.sleep(0.01)
    return broker.log


async def _read_all(judge: TopicBroker, log: Log, around: TopicSurroundings, stream: StreamId) -> Final:
    head = await judge.node.run(log.head(stream))
    batches: list[Batch] = []
    offset = head.log_start
    while offset < head.high_watermark:
        found = await around.fetch(judge, log, stream, offset, 1 << 20)
        batches.extend(around.batches_in(found, stream, offset))
        offset = found.next_offset
    return Final(stream, head.log_start, head.high_watermark, tuple(batches))
