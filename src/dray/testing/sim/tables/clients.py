"""Simulated clients of topics that are tables: readers of stream and table, and those who delete."""

from collections.abc import Sequence
from itertools import pairwise

from dray.cluster.topics import Topic, TopicExists, TopicUnknown
from dray.ids import StreamId
from dray.log import Log, LogDamaged, LogError, OffsetOutOfRange, Slice, StoreAway, StreamUnknown
from dray.meta.port import MetaError
from dray.objects.memory import MemoryBucket
from dray.objects.port import NotFound, ObjectError
from dray.records import ValidBatch
from dray.sweep import RetentionPolicy
from dray.tables.memory import MemoryCatalog
from dray.tables.port import LiveFile, TopicTable
from dray.testing.nodes import NodeCrashed
from dray.testing.sim.brokers import Broker
from dray.testing.sim.clients import Surroundings
from dray.testing.sim.history import Seen
from dray.testing.sim.tables.brokers import TopicBroker
from dray.testing.sim.tables.onlooker import Onlooker, Place
from dray.testing.sim.tables.records import Batch, Drafts, as_sent, records_in

_READ_BYTES = (1, 300, 5_000)
_AGAIN_S = 0.2


class TopicSurroundings(Surroundings):
    """What every client knows, and how it checks what it gets."""

    onlooker: Onlooker
    drafts: Drafts
    open_streams: list[StreamId]
    """Those that may be written to; `streams` is the same list."""
    pace: float

    def add(self, topic: Topic, policy: RetentionPolicy) -> None:
        """Let clients use a topic."""
        ref = topic.ref
        for partition, stream in enumerate(topic.streams):
            self.onlooker.places[stream] = Place(ref, partition, policy)
        self.open_streams.extend(topic.streams)

    async def pause(self, seconds: float) -> None:
        await Surroundings.pause(self, seconds * self.pace)

    def draft(self, tag: str, **said: int) -> ValidBatch:
        return self.drafts.make(tag, self.clock.now_ms(), self.random, **said)

    async def fetch(self, broker: Broker, log: Log, stream: StreamId, offset: int, max_bytes: int) -> Slice:
        before = self.onlooker.swaps[stream]
        try:
            return await Surroundings.fetch(self, broker, log, stream, offset, max_bytes)
        except StoreAway as error:
            if isinstance(error.__cause__, ObjectError) and _is_final(error.__cause__):
                self.history.complain(f"I5: a read of {stream} at {offset} ended with {error}")
            raise
        finally:
            self.onlooker.counts.reads += 1
            self.onlooker.counts.reads_across_a_swap += self.onlooker.swaps[stream] > before

    def batches_in(self, found: Slice, stream: StreamId, offset: int) -> Sequence[Batch]:
        """Check every record that a read returned: nothing missing, nothing changed."""
        records = records_in(found.parts, offset)
        for record in records:
            wrong = self.drafts.difference(record)
            if wrong is not None:
                self.history.complain(f"I2: {stream} at {record.offset}: {wrong}")
        offsets = [offset - 1, *(record.offset for record in records)]
        for before, after in pairwise(offsets):
            if after != before + 1:
                self.history.complain(f"I1: a read of {stream} at {offset} gave {before}, then {after}")
        if offsets[-1] + 1 != found.next_offset:
            self.history.complain(
                f"I1: a read of {stream} gave {offsets}, and goes on at {found.next_offset}"
            )
        return as_sent(records)


def _is_final(error: ObjectError) -> bool:
    """Whether trying again would not help: then it is no fault of the network."""
    return isinstance(error, NotFound)


async def leaper(around: TopicSurroundings) -> None:
    """Read anywhere, now and then, as much as comes to mind."""
    while not around.resting.is_set():
        await around.pause(0.6)
        stream = around.random.choice(around.open_streams)
        broker, log = await around.some_broker()
        try:
            head = await broker.node.run(log.head(stream))
            if head.log_start == head.high_watermark:
                continue
            offset = around.random.randrange(head.log_start, head.high_watermark)
            found = await around.fetch(broker, log, stream, offset, around.random.choice(_READ_BYTES))
        except OffsetOutOfRange as error:
            if error.log_start > around.history.trimmed_to.get(stream, 0) or error.offset >= error.log_start:
                around.history.complain(f"I1: a leap to {error.offset} of {stream}: {error}")
        except (LogDamaged, StreamUnknown) as error:
            if stream not in around.history.deleted:
                around.history.complain(f"I2: a leap into {stream}: {error}")
        except (StoreAway, NodeCrashed):
            continue
        else:
            for base, _, tag in around.batches_in(found, stream, offset):
                around.history.seen.append(Seen(stream, base, tag))


async def snipper(around: TopicSurroundings, times: int) -> None:
    """Delete a few of the oldest records every now and then, and seldom all."""
    for _ in range(times):
        await around.pause(1.5)
        stream = around.random.choice(around.open_streams)
        broker, log = await around.some_broker()
        try:
            head = await broker.node.run(log.head(stream))
            seldom = around.random.random() < 0.1
            few = head.high_watermark if seldom else head.log_start + around.random.randint(1, 6)
            before = min(head.high_watermark, few)
            around.history.trimmed_to[stream] = max(around.history.trimmed_to.get(stream, 0), before)
            await broker.node.run(log.trim(stream, before))
        except (LogError, NodeCrashed) as error:
            around.history.note(f"trim of {stream}: {error}")


async def table_reader(
    around: TopicSurroundings, catalog: MemoryCatalog, bucket: MemoryBucket, slow_s: float
) -> None:
    """Take a snapshot of some table, and read its files only after a while."""
    while not around.resting.is_set():
        await around.pause(1.0)
        tables = catalog.listing().tables
        if tables:
            table = around.random.choice(tables)
            files = catalog.current(table).files
            await around.clock.sleep(around.random.uniform(0, slow_s))
            _read_snapshot(around, table, files, bucket)


def _read_snapshot(
    around: TopicSurroundings, table: TopicTable, files: Sequence[LiveFile], bucket: MemoryBucket
) -> None:
    places = around.onlooker.places.items()
    if any(place.table == table and stream in around.history.deleted for stream, place in places):
        return  # who deletes a topic takes its table from those who read it
    around.onlooker.counts.snapshots_read += 1
    for file in files:
        if not bucket.page(file.path, "", 1):  # what is in it was looked at when it came into the table
            around.history.complain(f"T3: a snapshot of {table.topic} named {file.path}, which is gone")


async def deleter(around: TopicSurroundings, topic: Topic, *, again: bool) -> None:
    """Delete a topic in the middle of everything, and perhaps make it again under the same name."""
    await around.pause(8.0)
    around.history.deleted.update(topic.streams)
    for stream in topic.streams:
        around.open_streams.remove(stream)
    around.history.note(f"delete topic {topic.name}")
    while not await _deleted(around, topic):
        await around.clock.sleep(_AGAIN_S)
    if again:
        await around.pause(3.0)
        made = await _made(around, topic.name)
        around.history.note(f"made topic {topic.name} again: {made is not None}")
        if made is not None:
            around.add(made, RetentionPolicy())


async def _deleted(around: TopicSurroundings, topic: Topic) -> bool:
    broker, _ = await around.some_broker()
    assert isinstance(broker, TopicBroker)
    assert broker.topics is not None
    try:
        await broker.node.run(broker.topics.delete(topic.name, topic.topic_id))
    except TopicUnknown:
        return True
    except (MetaError, LogError, NodeCrashed):
        return False
    return True


async def _made(around: TopicSurroundings, name: str) -> Topic | None:
    """Make a topic; None if nobody can say whether it was made."""
    broker, _ = await around.some_broker()
    assert isinstance(broker, TopicBroker)
    assert broker.topics is not None
    try:
        return await broker.node.run(broker.topics.create(name, 1, {}))
    except (MetaError, LogError, NodeCrashed, TopicExists):
        return None
