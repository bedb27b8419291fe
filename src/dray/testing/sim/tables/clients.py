"""Simulated clients of topics with tables, which read logs and tables and delete or damage data."""

from collections.abc import Sequence
from itertools import pairwise

from dray.cluster.topic_admin import TopicExists, TopicUnknown
from dray.cluster.topics import Topic
from dray.ids import StreamId
from dray.log import FetchSlice, Log, LogDamaged, LogError, OffsetOutOfRange, StoreUnavailable, StreamUnknown
from dray.meta.port import MetaError
from dray.objects.memory import MemoryBucket
from dray.objects.port import NotFound, ObjectError
from dray.records import ValidBatch
from dray.sweep import RetentionPolicy
from dray.tables.port import LiveFile, TopicTable
from dray.testing.memory_tables import MemoryCatalog
from dray.testing.nodes import NodeCrashed
from dray.testing.sim.brokers import Broker
from dray.testing.sim.clients import ClientContext
from dray.testing.sim.history import Seen
from dray.testing.sim.tables.brokers import TopicBroker
from dray.testing.sim.tables.damage import Damage
from dray.testing.sim.tables.invariants import InvariantChecker, TopicPartition
from dray.testing.sim.tables.records import Batch, SentRecords, as_sent, records_in

_READ_BYTES = (1, 300, 5_000)
_RETRY_S = 0.2


class TopicContext(ClientContext):
    """State that all clients share, and checks of what they read."""

    checker: InvariantChecker
    sent_records: SentRecords
    open_streams: list[StreamId]
    """Streams that may be written to; `streams` is the same list."""
    pause_factor: float

    def add(self, topic: Topic, policy: RetentionPolicy) -> None:
        """Make a topic available to clients."""
        ref = topic.ref
        for partition, stream in enumerate(topic.streams):
            self.checker.topic_partitions[stream] = TopicPartition(ref, partition, policy)
        self.open_streams.extend(topic.streams)

    async def pause(self, seconds: float) -> None:
        await ClientContext.pause(self, seconds * self.pause_factor)

    def make_batch(self, tag: str, **producer: int) -> ValidBatch:
        return self.sent_records.make_batch(tag, self.clock.now_ms(), self.random, **producer)

    async def fetch(
        self, broker: Broker, log: Log, stream: StreamId, offset: int, max_bytes: int
    ) -> FetchSlice:
        before = self.checker.swaps[stream]
        try:
            return await ClientContext.fetch(self, broker, log, stream, offset, max_bytes)
        except StoreUnavailable as error:
            if isinstance(error.__cause__, ObjectError) and _is_final(error.__cause__):
                self.history.violate(f"I5: a read of {stream} at {offset} failed: {error}")
            raise
        finally:
            self.checker.counts.reads += 1
            self.checker.counts.reads_across_a_swap += self.checker.swaps[stream] > before

    def batches_in(self, found: FetchSlice, stream: StreamId, offset: int) -> Sequence[Batch]:
        """Check that no record that a read returned is missing or changed."""
        records = records_in(found.parts, offset)
        for record in records:
            difference = self.sent_records.difference(record)
            if difference is not None:
                self.history.violate(f"I2: {stream} at {record.offset}: {difference}")
        offsets = [offset - 1, *(record.offset for record in records)]
        for before, after in pairwise(offsets):
            if after != before + 1:
                self.history.violate(f"I1: a read of {stream} at {offset} returned {before}, then {after}")
        if offsets[-1] + 1 != found.next_offset:
            self.history.violate(
                f"I1: a read of {stream} returned {offsets}, next offset {found.next_offset}"
            )
        return as_sent(records)


def _is_final(error: ObjectError) -> bool:
    """Whether a retry would not help, so that the error is not a network fault."""
    return isinstance(error, NotFound)


async def random_reader(context: TopicContext) -> None:
    """Read from random offsets, with random limits."""
    while not context.resting.is_set():
        await context.pause(0.6)
        stream = context.random.choice(context.open_streams)
        broker, log = await context.pick_broker()
        try:
            head = await broker.node.run(log.head(stream))
            if head.log_start == head.high_watermark:
                continue
            offset = context.random.randrange(head.log_start, head.high_watermark)
            found = await context.fetch(broker, log, stream, offset, context.random.choice(_READ_BYTES))
        except OffsetOutOfRange as error:
            if error.log_start > context.history.trimmed_to.get(stream, 0) or error.offset >= error.log_start:
                context.history.violate(f"I1: a read of {stream} at {error.offset}: {error}")
        except (LogDamaged, StreamUnknown) as error:
            if stream not in context.history.deleted:
                context.history.violate(f"I2: a read of {stream}: {error}")
        except (StoreUnavailable, NodeCrashed):
            continue
        else:
            for base, _, tag in context.batches_in(found, stream, offset):
                context.history.seen.append(Seen(stream, base, tag))


async def trimmer(context: TopicContext, times: int) -> None:
    """Delete a few of the oldest records, and rarely all, from time to time."""
    for _ in range(times):
        await context.pause(1.5)
        stream = context.random.choice(context.open_streams)
        broker, log = await context.pick_broker()
        try:
            head = await broker.node.run(log.head(stream))
            all_records = context.random.random() < 0.1
            wanted = head.high_watermark if all_records else head.log_start + context.random.randint(1, 6)
            before = min(head.high_watermark, wanted)
            context.history.trimmed_to[stream] = max(context.history.trimmed_to.get(stream, 0), before)
            await broker.node.run(log.trim(stream, before))
        except (LogError, NodeCrashed) as error:
            context.history.note(f"trim of {stream}: {error}")


async def table_reader(
    context: TopicContext, catalog: MemoryCatalog, bucket: MemoryBucket, delay_s_max: float
) -> None:
    """Take snapshots of random tables, and read their files only after a while."""
    while not context.resting.is_set():
        await context.pause(1.0)
        tables = catalog.listing().tables
        if tables:
            table = context.random.choice(tables)
            files = catalog.current(table).files
            await context.clock.sleep(context.random.uniform(0, delay_s_max))
            _read_snapshot(context, table, files, bucket)


def _read_snapshot(
    context: TopicContext, table: TopicTable, files: Sequence[LiveFile], bucket: MemoryBucket
) -> None:
    partitions = context.checker.topic_partitions.items()
    if any(tp.table == table and stream in context.history.deleted for stream, tp in partitions):
        return  # deleting a topic deletes the table from under its readers
    context.checker.counts.snapshots_read += 1
    for file in files:
        if not bucket.page(file.path, "", 1):  # its rows were checked when it was added to the table
            context.history.violate(f"T3: a snapshot of {table.topic} references the missing {file.path}")


async def object_damager(context: TopicContext, damage: Damage) -> None:
    """Damage objects of the index from time to time, and restore some of them."""
    while not context.resting.is_set():
        await context.clock.sleep(damage.delay_s())
        change = damage.change(context.checker.model.wal_paths())
        if change:
            context.history.note(change)
    damage.settle(context.checker.model.wal_paths())


async def topic_deleter(context: TopicContext, topic: Topic, *, recreate: bool) -> None:
    """Delete a topic while it is used, and perhaps create another with the same name."""
    await context.pause(8.0)
    context.history.deleted.update(topic.streams)
    for stream in topic.streams:
        context.open_streams.remove(stream)
    context.history.note(f"delete topic {topic.name}")
    while not await _try_delete(context, topic):
        await context.clock.sleep(_RETRY_S)
    if recreate:
        await context.pause(3.0)
        created = await _try_create(context, topic.name)
        context.history.note(f"recreate topic {topic.name}: {created is not None}")
        if created is not None:
            context.add(created, RetentionPolicy())


async def _try_delete(context: TopicContext, topic: Topic) -> bool:
    broker, _ = await context.pick_broker()
    assert isinstance(broker, TopicBroker)
    assert broker.topic_admin is not None
    try:
        await broker.node.run(broker.topic_admin.delete(topic.name, topic.topic_id))
    except TopicUnknown:
        return True
    except (MetaError, LogError, NodeCrashed):
        return False
    return True


async def _try_create(context: TopicContext, name: str) -> Topic | None:
    """Create a topic; return None if the outcome is unknown."""
    broker, _ = await context.pick_broker()
    assert isinstance(broker, TopicBroker)
    assert broker.topic_admin is not None
    try:
        return await broker.node.run(broker.topic_admin.create(name, 1, {}))
    except (MetaError, LogError, NodeCrashed, TopicExists):
        return None
