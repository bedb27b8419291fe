"""Lookup of offsets by time, for Kafka's ListOffsets."""

from collections.abc import AsyncIterator
from typing import NamedTuple

from dray.ids import StreamId
from dray.index import NO_TIMESTAMP, IndexEntry, StreamHead, TimestampedRange, first_reaching_time, parts_of
from dray.log.errors import batch_damaged
from dray.log.reader import DomainReader
from dray.log.stages import is_stored
from dray.records import RecordError, TimestampType, decode_batch, parse_header


class TimedOffset(NamedTuple):
    """The offset of a record and its timestamp."""

    offset: int
    timestamp_ms: int


class OffsetFinder:
    """Looks for records by their time in the streams of one domain."""

    def __init__(self, reader: DomainReader) -> None:
        self._reader = reader

    async def at_or_after(self, stream: StreamId, head: StreamHead, time_ms: int) -> TimedOffset | None:
        """Return the first record whose timestamp is not before `time_ms`."""
        entry = await self._first_entry(stream, head, time_ms)
        while entry is not None:
            found = await self._in_entry(head, entry, time_ms)
            if found is not None:
                return found
            # The running maximum was reached by a record that has been trimmed: continue one by one.
            entry = await self._next(stream, head, entry)
        return None

    async def newest(self, stream: StreamId, head: StreamHead) -> TimedOffset | None:
        """Return the first record that has the greatest timestamp in the stream."""
        if head.max_timestamp_ms == NO_TIMESTAMP:
            return None
        found = await self.at_or_after(stream, head, head.max_timestamp_ms)
        return found if found is not None else await self._newest_left(stream, head)

    async def _first_entry(self, stream: StreamId, head: StreamHead, time_ms: int) -> IndexEntry | None:
        search = first_reaching_time(head.log_start, head.high_watermark, time_ms)
        try:
            probe = next(search)
            while True:
                probe = search.send(await self._reader.entry_at(stream, probe.offset, ahead=1))
        except StopIteration as found:
            result: IndexEntry | None = found.value
            return result

    async def _next(self, stream: StreamId, head: StreamHead, entry: IndexEntry) -> IndexEntry | None:
        if entry.end_offset >= head.high_watermark:
            return None
        return await self._reader.entry_at(stream, entry.end_offset)

    async def _newest_left(self, stream: StreamId, head: StreamHead) -> TimedOffset | None:
        """Return the newest record, if the greatest timestamp ever seen was trimmed or is of no record.

        Walks the whole index, and is rarely needed. A batch is opened only if its header claims more than the
        best record so far, so mostly few are.
        """
        best = TimedOffset(-1, NO_TIMESTAMP)
        offset = head.log_start
        while offset < head.high_watermark:
            entry = await self._reader.entry_at(stream, offset)
            for part in parts_of(entry):
                if part.max_timestamp_ms <= best.timestamp_ms or part.last_offset < head.log_start:
                    continue
                async for batch, base in self._batches(stream, part):
                    best = _newer(best, _newest_in(batch, base, head.log_start))
            offset = entry.end_offset
        return None if best.timestamp_ms == NO_TIMESTAMP else best

    async def _in_entry(self, head: StreamHead, entry: IndexEntry, time_ms: int) -> TimedOffset | None:
        for part in parts_of(entry):
            if part.max_timestamp_ms < time_ms or part.last_offset < head.log_start:
                continue
            async for batch, base in self._batches(entry.stream, part):
                found = _in_batch(batch, base, head.log_start, time_ms)
                if found is not None:
                    return found
        return None

    async def _batches(
        self, stream: StreamId, part: TimestampedRange
    ) -> AsyncIterator[tuple[memoryview, int]]:
        """Yield the batches of a part, each with the offset it was given; raises `LogDamaged`."""
        entry, opened = await self._reader.locate(stream, part.start_offset)
        for row in opened.rows.reaching(part.start_offset - opened.start_offset):
            base = opened.start_offset + row.start_delta
            if base > part.last_offset:
                return
            batch = opened.batch_of(row)
            if opened.unverified and not is_stored(batch, row):
                self._reader.forget(entry)
                raise batch_damaged(entry, row)
            yield batch, base


def _newer(best: TimedOffset, other: TimedOffset | None) -> TimedOffset:
    return best if other is None or other.timestamp_ms <= best.timestamp_ms else other


def _newest_in(batch: memoryview, base_offset: int, log_start: int) -> TimedOffset | None:
    header = parse_header(batch)
    shift = base_offset - header.base_offset
    if header.last_offset + shift < log_start:
        return None
    whole = TimedOffset(max(base_offset, log_start), header.max_timestamp)
    if header.timestamp_type is TimestampType.LOG_APPEND:
        return whole
    try:
        records = decode_batch(batch)
    except RecordError:
        return whole
    left = [
        TimedOffset(record.offset + shift, record.timestamp)
        for record in records
        if record.offset + shift >= log_start
    ]
    return max(left, key=lambda one: one.timestamp_ms, default=None)


def _in_batch(batch: memoryview, base_offset: int, log_start: int, time_ms: int) -> TimedOffset | None:
    """Return the first record of a batch at or after a time: of a row group only some batches reach it."""
    header = parse_header(batch)
    shift = base_offset - header.base_offset
    if header.last_offset + shift < log_start:
        return None
    is_reached = header.max_timestamp >= time_ms
    whole = TimedOffset(max(base_offset, log_start), header.max_timestamp) if is_reached else None
    if header.timestamp_type is TimestampType.LOG_APPEND:
        return whole
    try:
        records = decode_batch(batch)
    except RecordError:
        return whole  # the producer's records are unreadable; only the header is left to use
    for record in records:
        if record.offset + shift >= log_start and record.timestamp >= time_ms:
            return TimedOffset(record.offset + shift, record.timestamp)
    return None
