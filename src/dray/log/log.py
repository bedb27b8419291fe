"""The log of a cluster as one process sees it: append, read, wait, find, trim.

Everything true is in two stores; this object holds only caches and work under way, and may die at any time.

    log = Log(parts)
    await log.start()
    await log.create_stream(stream)
    appended = await (await log.append(stream, batch))
    found = await log.read(stream, appended.base_offset, max_bytes=1 << 20)
    await log.close()
"""

import asyncio
from asyncio import Future
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from dray.ids import MetaDomain, StreamId, meta_domain
from dray.index import CorruptValue, StreamHead, encode_head, head_key
from dray.log.bounded_reads import BoundedReads
from dray.log.chunks import Chunks
from dray.log.complaints import Complaints
from dray.log.domain import DomainLog
from dray.log.errors import (
    RESTORE_METADATA,
    LogClosed,
    LogDamaged,
    OffsetOutOfRange,
    OutcomeUncertain,
    StoreAway,
)
from dray.log.index_cache import IndexCache
from dray.log.offsets import TimedOffset
from dray.log.parts import LogParts, Shared
from dray.log.reader import Slice
from dray.log.recent import RecentChunks
from dray.log.row_groups import RowGroups
from dray.log.stages import BATCH_OVERHEAD_BYTES, Appended, Pending, own_memory
from dray.log.states import read_state
from dray.meta.port import ABSENT, Check, Conflict, MetaError, OutcomeUnknown, Put
from dray.objects.cached import Cached
from dray.objects.port import ObjectError
from dray.producers import ProducerState, unexpired
from dray.records import ValidBatch
from dray.runtime import ByteBudget


class Log:
    """All streams of a cluster."""

    def __init__(self, parts: LogParts) -> None:
        settings = parts.settings
        self._parts = parts
        self._shared = Shared(
            IndexCache(settings.index_cache_bytes_max),
            RecentChunks(settings.recent_bytes_max),
            ByteBudget(settings.buffer_bytes_max),
            Complaints(parts.clock),
        )
        cached = Cached(parts.objects, parts.tasks, settings.range_cache_bytes_max)
        reading = ByteBudget(settings.reading_bytes_max)
        reads = BoundedReads(cached, reading)
        groups = RowGroups(
            parts.encode_group, reads.get_ranges, parts.tasks, settings.parquet_cache_bytes_max
        )
        chunks = Chunks(
            self._shared.recent, cached, groups, reads=reads, tasks=parts.tasks, metrics=parts.metrics
        )
        parts.metrics.buffered_bytes.ask(lambda: self._shared.budget.held)
        parts.metrics.reading_bytes.ask(lambda: reading.held)
        self._domains = [
            DomainLog(MetaDomain(number), parts, self._shared, chunks) for number in range(parts.domains)
        ]

    async def start(self) -> None:
        """Begin to follow the store; returns when reads and appends may begin."""
        for domain in self._domains:
            await domain.heads.start(self._parts.tasks)

    async def close(self) -> None:
        """Take no more batches and answer those that were taken.

        The caller stops the tasks and the stores.
        """
        for domain in self._domains:
            domain.writer.refuse()
        for domain in self._domains:
            await domain.writer.close()

    async def create_stream(self, stream: StreamId) -> None:
        """Make an empty stream; one that is there already is left as it is."""
        key, domain = head_key(stream), self._domain(stream)
        put = Put(key, encode_head(StreamHead()))
        with _store_errors():
            made = await self._parts.meta.commit(domain.name, [Check(key, ABSENT)], [put])
            if isinstance(made, Conflict):
                await domain.trimmer.finish_deletion(stream)  # nothing to do unless one is half deleted
                await self._parts.meta.commit(domain.name, [Check(key, ABSENT)], [put])

    async def condemn_stream(self, stream: StreamId) -> None:
        """Let nobody append to a stream or read it any more; `delete_stream` removes what is left."""
        with _store_errors():
            domain = self._domain(stream)
            await domain.trimmer.condemn(stream)
            domain.heads.forget(stream)

    async def delete_stream(self, stream: StreamId) -> None:
        """Give up a stream and everything in it."""
        with _store_errors():
            domain = self._domain(stream)
            await domain.trimmer.delete(stream)
            domain.heads.forget(stream)

    async def append(
        self, stream: StreamId, batch: ValidBatch, *, together_bytes: int = 0
    ) -> "Future[Appended]":
        """Take a batch, and return the promise of its offset.

        Returns when there is room for the batch; batches of one stream get their offsets in the order in
        which these calls returned. The future fails with a `LogError`. The batch's bytes must not change
        until it is done. If more batches of the same buffer are appended with it, `together_bytes` is the
        size of them all: the buffer is then worth keeping as it is.
        """
        view = own_memory(memoryview(batch.buffer), together_bytes)
        domain = self._domain(stream)
        held = len(view) + BATCH_OVERHEAD_BYTES
        if not self._shared.budget.try_acquire(held):  # the usual way costs no coroutine
            await self._shared.budget.acquire(held)
        done: Future[Appended] = asyncio.get_running_loop().create_future()
        try:
            domain.writer.append(stream, Pending(view, batch.header, done))
        except LogClosed:
            self._shared.budget.release(held)
            raise
        return done

    async def read(self, stream: StreamId, offset: int, max_bytes: int, *, whole_first: bool = True) -> Slice:
        """Return batches from `offset` on.

        At least one if there is one, and no more than `max_bytes` otherwise.
        """
        try:
            with _store_errors():
                reader = self._domain(stream).reader
                return await reader.read(stream, offset, max_bytes, whole_first=whole_first)
        except (LogDamaged, StoreAway) as error:
            self._shared.complaints.tell(error)
            raise

    async def head(self, stream: StreamId) -> StreamHead:
        """Return where the stream begins and ends now."""
        with _store_errors():
            return await self._domain(stream).heads.fresh(stream)

    async def recent_head(self, stream: StreamId) -> StreamHead:
        """Return where the stream began and ended a moment ago; the store is asked only if nobody knows."""
        known = self._domain(stream).heads.known(stream)
        return known if known is not None else await self.head(stream)

    @contextmanager
    def watched(self, streams: Sequence[StreamId]) -> Iterator[asyncio.Event]:
        """Give an event that is set whenever one of the streams may have grown.

        Clear it, then read, then wait for it: what is committed after the read began sets it.
        """
        changed = asyncio.Event()
        for stream in streams:
            self._domain(stream).heads.enlist(stream, changed)
        try:
            yield changed
        finally:
            for stream in streams:
                self._domain(stream).heads.dismiss(stream, changed)

    async def wait_past(self, stream: StreamId, offset: int, seconds: float) -> StreamHead:
        """Return as soon as there is something at `offset`, or after the time given; the head tells which."""
        deadline = self._parts.clock.monotonic() + seconds
        with self.watched([stream]) as changed:
            while True:
                changed.clear()
                known = self._domain(stream).heads.known(stream)
                enough = known is not None and known.high_watermark > offset
                head = known if known is not None and enough else await self.head(stream)
                left = deadline - self._parts.clock.monotonic()
                if head.high_watermark > offset or left <= 0:
                    return head
                with suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await changed.wait()

    async def find_time(self, stream: StreamId, time_ms: int) -> TimedOffset | None:
        """Return the first record whose timestamp is not before `time_ms`."""
        with _store_errors():
            finder = self._domain(stream).finder
            return await self._as_trimmed(stream, lambda head: finder.at_or_after(stream, head, time_ms))

    async def find_newest(self, stream: StreamId) -> TimedOffset | None:
        """Return the first record that has the greatest timestamp."""
        with _store_errors():
            finder = self._domain(stream).finder
            return await self._as_trimmed(stream, lambda head: finder.newest(stream, head))

    async def size_bytes(self, stream: StreamId) -> int:
        """Return how much the stream's readable records take in the object store.

        The first of them may lie in a chunk with others that are not readable any more; it counts as a whole.
        """
        with _store_errors():
            domain = self._domain(stream)
            head = await domain.heads.fresh(stream)
            if head.log_start == head.high_watermark:
                return 0
            first = await domain.reader.entry_at(stream, head.log_start)
            return head.cumulative_size - first.cumulative_size + first.came_bytes

    async def producers(self, stream: StreamId) -> list[ProducerState]:
        """Return the idempotent producers that the stream remembers now, by id."""
        with _store_errors():
            state = await read_state(self._parts.meta, self._domain(stream).name, stream)
        expiry_ms = self._parts.settings.producer_id_expiration_ms
        remembered = unexpired(state.producers, self._parts.clock.now_ms(), expiry_ms)
        return [remembered[producer_id] for producer_id in sorted(remembered)]

    async def trim(self, stream: StreamId, before: int) -> int:
        """Give up everything before an offset; returns where the log starts now."""
        with _store_errors():
            domain = self._domain(stream)
            start = await domain.trimmer.trim(stream, before)
            domain.heads.forget(stream)
            return start

    async def _as_trimmed(
        self, stream: StreamId, look: Callable[[StreamHead], Awaitable[TimedOffset | None]]
    ) -> TimedOffset | None:
        """Look again when the log's start moved on while we looked."""
        while True:
            head = await self._domain(stream).heads.fresh(stream)
            try:
                return await look(head)
            except OffsetOutOfRange as error:
                if error.log_start == head.log_start:
                    raise

    def _domain(self, stream: StreamId) -> DomainLog:
        return self._domains[meta_domain(stream, len(self._domains))]


@contextmanager
def _store_errors() -> Iterator[None]:
    try:
        yield
    except OutcomeUnknown as error:
        raise OutcomeUncertain(f"it may or may not have happened: {error}") from error
    except (MetaError, ObjectError) as error:
        raise StoreAway(f"a store does not answer, try again: {error}") from error
    except CorruptValue as error:
        raise LogDamaged(str(error), RESTORE_METADATA) from error
