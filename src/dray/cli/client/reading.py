"""Reads partitions of one topic from where they are told to where they are told, or on and on.

One request at a time to each leader asks for all partitions that it leads: a broker answers the requests of a
connection in order, and one that waits for news would hold up the others. What comes is put into a short
queue, so that the next fetch is on its way while records are shown. When a fetch fails in a way that may
pass, all are stopped and started anew from where they were, with fresh metadata. What cannot be read ends it,
behind everything that came before.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from dray.cli.client.cluster import Cluster, TopicLayout
from dray.cli.client.errors import ClientError, NotKafka, TryAgain, raise_for
from dray.cli.client.offsets import by_leader
from dray.records import Record, RecordError, decode_batch, iter_batches
from dray.wire import ErrorCode
from dray.wire.apis.fetch import (
    FETCH,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

_MIB: Final = 1 << 20
_FETCH_BYTES_MAX: Final = 16 * _MIB
_PARTITION_BYTES_MAX: Final = 2 * _MIB
_WAIT_MS: Final = 500
_QUEUED_MAX: Final = 4
_PAUSE_S: Final = 0.2
_NO_SESSION_EPOCH: Final = -1


@dataclass(slots=True)
class Span:
    """A partition, the next offset to read, and the one to stop before (None: never)."""

    partition: int
    offset: int
    end: int | None = None

    @property
    def done(self) -> bool:
        return self.end is not None and self.offset >= self.end


@dataclass(frozen=True, slots=True)
class Chunk:
    """Records of one partition, in order."""

    partition: int
    records: Sequence[Record]


class Reading:
    """`next` gives chunks as they come, and None at the end or after `stop`."""

    def __init__(
        self, cluster: Cluster, topic: str, spans: Sequence[Span], warn: Callable[[str], None]
    ) -> None:
        self._cluster = cluster
        self._topic = topic
        self._spans = spans
        self._warn = warn
        self._queue: asyncio.Queue[Chunk | ClientError | None] = asyncio.Queue(_QUEUED_MAX)
        self._stopped = False
        self._well_at = cluster.parts.clock.monotonic()

    def start(self) -> None:
        self._cluster.parts.tasks.start(self._run(), name="fetch")

    def stop(self) -> None:
        """Make `next` return None; a chunk that waits is left unread."""
        self._stopped = True
        if self._queue.empty():
            self._queue.put_nowait(None)

    async def next(self) -> Chunk | None:
        if self._stopped:
            return None
        chunk = await self._queue.get()
        if isinstance(chunk, ClientError):
            raise chunk
        return chunk

    async def _run(self) -> None:
        try:
            while any(not span.done for span in self._spans):
                try:
                    await self._read_all()
                except TryAgain as error:
                    await self._pause(error)
            await self._queue.put(None)
        except ClientError as error:
            await self._queue.put(error)

    async def _pause(self, error: TryAgain) -> None:
        clock = self._cluster.parts.clock
        if clock.monotonic() - self._well_at > self._cluster.parts.timeout_s:
            raise error
        await clock.sleep(_PAUSE_S)

    async def _read_all(self) -> None:
        """Read from all leaders until all is read; the first error ends it."""
        layout = await self._cluster.layout(self._topic)
        spans = {span.partition: span for span in self._spans if not span.done}
        tasks = {
            self._cluster.parts.tasks.start(
                self._follow(leader, layout, [spans[number] for number in numbers]),
                name=f"fetch from broker {leader}",
            )
            for leader, numbers in by_leader(layout, spans).items()
        }
        try:
            for ended in asyncio.as_completed(tasks):
                failure = await ended
                if failure is not None:
                    raise failure
        finally:
            for task in tasks:
                task.cancel()

    async def _follow(self, leader: int, layout: TopicLayout, spans: list[Span]) -> ClientError | None:
        """Read partitions from one leader; the error is returned, because a task's own is not for raising."""
        try:
            while spans := [span for span in spans if not span.done]:
                connection = await self._cluster.broker(leader)
                answer = await connection.ask(FETCH, _request(layout, spans), FetchResponse)
                raise_for(answer.error_code, f"fetch from {connection.address}")
                told = {one.partition_index: one for topic in answer.responses for one in topic.partitions}
                for span in spans:
                    if span.partition in told:
                        await self._take(span, told[span.partition])
                self._well_at = self._cluster.parts.clock.monotonic()
                # Kafka serves the first partitions first: let others have their turn.
                spans.append(spans.pop(0))
        except ClientError as error:
            return error
        return None

    async def _take(self, span: Span, told: PartitionData) -> None:
        if told.error_code == ErrorCode.OFFSET_OUT_OF_RANGE and told.log_start_offset > span.offset:
            self._warn(
                f"partition {span.partition}: offsets {span.offset} to {told.log_start_offset - 1} are gone; "
                f"going on at {told.log_start_offset}"
            )
            span.offset = told.log_start_offset
            return
        raise_for(told.error_code, f"partition {span.partition} of topic '{self._topic}'")
        records, after, fault = _decoded(span, told)
        if records:
            await self._queue.put(Chunk(span.partition, records))
        span.offset = after  # no await in between: a cancelled put leaves the offset as it was
        if fault is not None and not span.done:
            where = f"partition {span.partition} of topic '{self._topic}', offset {after}"
            raise NotKafka(f"{where}: the records there cannot be read: {fault.message}")


def _request(layout: TopicLayout, spans: Sequence[Span]) -> FetchRequest:
    partitions = [
        FetchPartition(
            partition=span.partition, fetch_offset=span.offset, partition_max_bytes=_PARTITION_BYTES_MAX
        )
        for span in spans
    ]
    return FetchRequest(
        max_wait_ms=_WAIT_MS,
        min_bytes=1,
        max_bytes=_FETCH_BYTES_MAX,
        session_epoch=_NO_SESSION_EPOCH,
        topics=[FetchTopic(topic=layout.name, topic_id=layout.topic_id, partitions=partitions)],
    )


def _decoded(span: Span, told: PartitionData) -> tuple[list[Record], int, RecordError | None]:
    """Return the records that the span wants, the offset to go on from, and why it ends there, if it must."""
    batches = memoryview(b"".join(told.records or ()))
    records: list[Record] = []
    after, fault = span.offset, None
    try:
        for header, batch in iter_batches(batches, partial_tail=True):
            after = max(after, header.base_offset)
            if not header.is_control:
                records += decode_batch(batch)
            after = max(after, header.last_offset + 1)
    except RecordError as error:
        fault = error
    end = after if span.end is None else span.end
    return [record for record in records if span.offset <= record.offset < end], after, fault
