"""Simulation of a cluster whose topics have tables, from a seed to a verdict.

Clients write and read on several brokers and delete records and topics, compactors turn the log into tables,
and brokers sweep and apply retention, while the stores fail and processes crash and stall. A checker tests
the invariants at every commit and every deletion. When all of it has stopped, a broker and a compactor with
reliable stores finish the work, and the stores are audited: streams, index, tables and bucket must agree to
the record.
"""

import asyncio
from dataclasses import dataclass, field, replace
from random import Random

from dray.cluster.topics import Topic
from dray.ids import StreamId
from dray.index import StreamHead
from dray.log import Log, LogDamaged, OffsetOutOfRange
from dray.meta.memory import MemoryMetaStore
from dray.objects.memory import MemoryObjects
from dray.runtime import Tasks
from dray.sweep import RetentionPolicy
from dray.testing.clock import VirtualClock
from dray.testing.entropy import SeededEntropy
from dray.testing.faulty_objects import ObjectFaults
from dray.testing.meta_network import MetaNetwork, draw_network
from dray.testing.sim.checks import FinalStream, violations
from dray.testing.sim.clients import idempotent_producer, plain_producer, reader
from dray.testing.sim.faults import Process
from dray.testing.sim.history import History
from dray.testing.sim.seeds import Verdict, is_networked
from dray.testing.sim.tables.audit import TableAudit
from dray.testing.sim.tables.brokers import TableStores, TopicBroker
from dray.testing.sim.tables.checking import CheckingProcess
from dray.testing.sim.tables.clients import (
    TopicContext,
    object_damager,
    random_reader,
    table_reader,
    topic_deleter,
    trimmer,
)
from dray.testing.sim.tables.compactors import CompactorProcess
from dray.testing.sim.tables.damage import Damage
from dray.testing.sim.tables.faults import TargetedFaults
from dray.testing.sim.tables.invariants import Counts, InvariantChecker
from dray.testing.sim.tables.records import Batch, SentRecords
from dray.testing.sim.tables.scenarios import (
    FILE_GRACE_S,
    LATE_S,
    NO_FAULTS,
    ORPHAN_TTL_S,
    SETTINGS,
    STALL_SECONDS,
    draw_link_faults,
    draw_object_faults,
    draw_policy,
    draw_scenario,
)
from dray.testing.sim.tables.stores import WatchedBucket, WatchedCatalog, WatchedServer
from dray.testing.virtual_loop import run, virtual_loop

_STEP_SECONDS = 0.00002


@dataclass(frozen=True, slots=True)
class TableVerdict(Verdict):
    """Result of one seed, with the numbers of events that its checks covered."""

    counts: Counts = field(default_factory=Counts)
    checks: int = 0
    """How often the cluster was checked while it was in use."""


def simulate_tables(seed: int, *, checking: bool = False, networked: bool | None = None) -> TableVerdict:
    """Simulate one seed, with a process that checks the cluster all the time if `checking`.

    The metadata store is a networked one or not; if unset, the seed decides.
    """
    networked = is_networked(seed) if networked is None else networked
    world = _World(seed, checking=checking, networked=networked)
    return run(world.run(), seed=seed, step_seconds=_STEP_SECONDS)


class _World:
    def __init__(self, seed: int, *, checking: bool, networked: bool) -> None:
        self._seed = seed
        self._checking = checking
        self._checks = 0
        self._networked = networked
        self._random = Random(f"networked tables {seed}" if networked else f"tables {seed}")
        self._history = History()
        self._scenario = draw_scenario(self._random)
        if networked:
            self._scenario = replace(self._scenario, domains=self._random.choice((2, 4, 16)))
        self._domains = self._scenario.domains
        self._damage = Damage(seed)

    async def run(self) -> TableVerdict:
        clock = VirtualClock(virtual_loop())
        sent_records = SentRecords()
        checker = InvariantChecker(self._history, sent_records, clock, SETTINGS)
        server, bucket = WatchedServer(clock, checker), WatchedBucket(clock, checker)
        catalog = WatchedCatalog(clock, checker)
        reliable = TableStores(
            server, bucket, NO_FAULTS, ObjectFaults(), catalog=catalog, damage=self._damage
        )
        context = self._client_context(clock, checker, sent_records)
        judge = self._broker("judge", reliable)
        to_delete = await self._create_topics(judge, context)
        faulty = self._faulty(reliable, clock)
        if self._checking:
            await self._run_checked(context, faulty, to_delete)
        else:
            await self._run_workload(context, faulty, to_delete)
        await clock.sleep(2 * LATE_S)
        return await self._judge(judge, reliable, context)

    def _client_context(
        self, clock: VirtualClock, checker: InvariantChecker, sent_records: SentRecords
    ) -> TopicContext:
        streams: list[StreamId] = []
        context = TopicContext([], streams, self._history, clock, self._random)
        context.open_streams, context.checker, context.sent_records = streams, checker, sent_records
        context.pause_factor = self._scenario.pause_factor
        return context

    async def _create_topics(self, judge: TopicBroker, context: TopicContext) -> Topic | None:
        """Create the topics; return the one to delete, if any."""
        judge.boot()
        await judge.wait_until_up(context.clock)
        assert judge.topic_admin is not None
        choose = self._random
        policy = draw_policy(choose)
        configs = {
            "retention.ms": str(policy.retention_ms),
            "retention.bytes": str(policy.retention_bytes),
        }
        kept = await judge.node.run(judge.topic_admin.create("kept", self._scenario.partitions, configs))
        context.add(kept, policy)
        to_delete = None
        if choose.random() < 0.4:
            to_delete = await judge.node.run(judge.topic_admin.create("erased", choose.choice((1, 2)), {}))
            context.add(to_delete, RetentionPolicy(7 * 86_400_000))
        judge.crash()
        return to_delete

    async def _run_workload(
        self, context: TopicContext, stores: TableStores, to_delete: Topic | None
    ) -> None:
        choose = self._random
        brokers = [
            self._broker(f"broker{number}", stores, choose.choice((0.0, 0.0, 3.0)))
            for number in range(self._scenario.brokers)
        ]
        compactors = [
            self._compactor(f"compactor{number}", stores, context.checker)
            for number in range(self._scenario.compactors)
        ]
        context.brokers = brokers
        faults = self._process_faults(context, stores, brokers, compactors)
        processes: list[Process] = [*brokers, *compactors]
        for process in processes:
            process.boot()
        assert stores.catalog is not None
        async with asyncio.TaskGroup() as readers:
            for stream in context.streams:
                readers.create_task(reader(f"reader-{stream}", context, stream))
            readers.create_task(random_reader(context))
            if self._damage.happens:
                readers.create_task(object_damager(context, self._damage))
            readers.create_task(table_reader(context, stores.catalog, stores.bucket, 0.8 * FILE_GRACE_S))
            async with asyncio.TaskGroup() as clients:
                self._start_clients(context, clients, to_delete)
                if stores.network is not None:
                    clients.create_task(stores.network.disturb_for(choose.uniform(3.0, 12.0)))
                await faults.inject(choose.randint(4, 16))
                faults.heal()
            context.resting.set()
        for process in processes:
            process.crash()
        context.checker.counts.crashes = faults.crashes

    async def _run_checked(self, context: TopicContext, stores: TableStores, to_delete: Topic | None) -> None:
        windows = self._random.choice((20, 200, 2_000))
        process = CheckingProcess(stores, context.clock, self._domains, objects_at_once=windows)
        tasks = Tasks()
        tasks.start(process.run(self._history), name="check")
        await self._run_workload(context, stores, to_delete)
        await tasks.stop()
        self._checks = process.checks

    def _process_faults(
        self,
        context: TopicContext,
        stores: TableStores,
        brokers: list[TopicBroker],
        compactors: list[CompactorProcess],
    ) -> TargetedFaults:
        """Return the faults of processes, hooked into the loop, the job records and the tables."""
        faults = TargetedFaults(
            context,
            [*compactors, *([] if self._scenario.only_compactors_fail else brokers)],
            STALL_SECONDS,
            stall_odds=self._scenario.stall_odds,
        )
        faults.target(
            compactors, self._scenario.faults_after_job_changes, self._scenario.stalls_before_commits
        )
        virtual_loop().on_step, context.checker.on_job_change = faults.on_step, faults.on_job_change
        stores.before_table_commit = faults.before_table_commit
        return faults

    def _start_clients(
        self, context: TopicContext, clients: asyncio.TaskGroup, to_delete: Topic | None
    ) -> None:
        choose = self._random
        for number in range(self._scenario.plain_producers):
            clients.create_task(plain_producer(f"plain{number}", context, choose.randint(6, 24)))
        for number in range(self._scenario.idempotent_producers):
            batches = choose.randint(12, 36)
            clients.create_task(idempotent_producer(f"idem{number}", context, 1000 + number, batches))
        clients.create_task(trimmer(context, self._scenario.trims))
        if to_delete is not None:
            clients.create_task(topic_deleter(context, to_delete, recreate=choose.random() < 0.5))

    async def _judge(self, judge: TopicBroker, reliable: TableStores, context: TopicContext) -> TableVerdict:
        """Finish all work in processes with reliable stores, then check and audit the final state."""
        clock, checker = context.clock, context.checker
        compactor = self._compactor("final compactor", reliable, checker, 1.5)
        compactor.boot()
        live = [stream for stream in checker.topic_partitions if stream not in self._history.deleted]
        found = violations(self._history, await self._read_back(judge, context, live))
        self._history.violations.clear()
        await clock.sleep(5 * ORPHAN_TTL_S)
        judge.crash()
        found += violations(self._history, await self._read_back(judge, context, live))
        judge.crash()
        compactor.crash()
        meta = MemoryMetaStore(reliable.meta, clock, SeededEntropy("audit"), tasks=Tasks())
        audit = TableAudit(
            meta,
            MemoryObjects(reliable.bucket),
            clock,
            checker,
            self._domains,
            live,
            sorted(self._history.deleted),
            self._damage,
        )
        found += await audit.run()
        found += await CheckingProcess(reliable, clock, self._domains, objects_at_once=200).final()
        return self._verdict(found, checker.counts)

    async def _read_back(
        self, judge: TopicBroker, context: TopicContext, streams: list[StreamId]
    ) -> list[FinalStream]:
        judge.boot()
        log = await judge.wait_until_up(context.clock)
        finals = []
        for stream in streams:
            try:
                finals.append(await _read_all(judge, log, context, stream))
            except LogDamaged as error:
                self._history.violate(f"I2: {error}")
        return finals

    def _broker(self, name: str, stores: TableStores, read_s_max: float = 0.0) -> TopicBroker:
        return TopicBroker(name, self._seed, stores, SETTINGS, self._domains, read_s_max=read_s_max)

    def _compactor(
        self, name: str, stores: TableStores, checker: InvariantChecker, rest_s: float = 0.15
    ) -> CompactorProcess:
        return CompactorProcess(
            name,
            self._seed,
            stores,
            SETTINGS,
            self._domains,
            history=self._history,
            counts=checker.counts,
            rest_s=rest_s,
        )

    def _faulty(self, reliable: TableStores, clock: VirtualClock) -> TableStores:
        choose = self._random
        link = draw_link_faults(choose)
        network = None
        if self._networked:
            network = MetaNetwork(reliable.meta, clock, choose, self._history.note, draw_network(choose))
        return replace(
            reliable,
            link_faults=link,
            object_faults=draw_object_faults(choose, self._scenario.travel_s_max),
            object_attempts=choose.choice((2, 10)),
            table_faults=link,
            network=network,
        )

    def _verdict(self, found: list[str], counts: Counts) -> TableVerdict:
        return TableVerdict(
            self._seed,
            tuple(found),
            tuple(self._history.lines),
            self._history.acknowledged,
            counts.crashes,
            virtual_loop().steps,
            counts,
            self._checks,
        )


async def _read_all(judge: TopicBroker, log: Log, context: TopicContext, stream: StreamId) -> FinalStream:
    """Read a stream; from its new beginning if the judge's own sweep trims it meanwhile."""
    while True:
        head = await judge.node.run(log.head(stream))
        try:
            batches = await _read_between(judge, log, context, stream, head)
        except OffsetOutOfRange as error:
            if error.log_start == head.log_start:
                raise
        else:
            return FinalStream(stream, head.log_start, head.high_watermark, tuple(batches))


async def _read_between(
    judge: TopicBroker, log: Log, context: TopicContext, stream: StreamId, head: StreamHead
) -> list[Batch]:
    batches: list[Batch] = []
    offset = head.log_start
    while offset < head.high_watermark:
        found = await context.fetch(judge, log, stream, offset, 1 << 20)
        batches.extend(context.batches_in(found, stream, offset))
        offset = found.next_offset
    return batches
