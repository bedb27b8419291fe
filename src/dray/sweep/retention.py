"""Retention: trims streams by time and size, and completes trims and deletions that a crash interrupted."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from dray.cluster.topics import TopicCatalog
from dray.ids import MetaDomain, StreamId
from dray.index import CorruptValue, IndexEntry, StreamHead, decode_entry, decode_head
from dray.keyspace import entries_after, heads_range, log_domain, stream_of_head_key
from dray.log import LogDamaged, StreamUnknown, Trimmer
from dray.meta.port import Entry, MetaStore
from dray.observe import get_logger
from dray.runtime import Clock
from dray.sweep.plan import RetentionPolicy, retained_from

_PAGE = 64
_KEEP_EVERYTHING = RetentionPolicy()
_log = get_logger("sweep")

PolicyOf = Callable[[StreamId], RetentionPolicy]


@dataclass(frozen=True, slots=True)
class Trim:
    """The expired beginning of a stream: offsets from `start` up to, but excluding, `until`."""

    stream: StreamId
    start: int
    until: int
    ingested_bytes: int
    """Size of its records as produced."""


class TopicPolicies:
    """Retention policies of all streams, from the configs of their topics as of the last `refresh`.

    Streams without a topic are kept.
    """

    def __init__(self, topics: TopicCatalog) -> None:
        self._topics = topics
        self._policies: dict[StreamId, RetentionPolicy] = {}

    def refresh(self) -> None:
        """Adopt the topics' current configs."""
        self._policies = {}
        for topic in self._topics.all():
            config = topic.config
            if config.is_deleted:
                policy = RetentionPolicy(
                    config.whole("retention.ms"), config.whole("retention.bytes"), config.is_compacted
                )
                self._policies.update(dict.fromkeys(topic.streams, policy))

    def of(self, stream: StreamId) -> RetentionPolicy:
        return self._policies.get(stream, _KEEP_EVERYTHING)


class Retention:
    """Applies retention to the streams of one domain."""

    def __init__(
        self, meta: MetaStore, domain: MetaDomain, trimmer: Trimmer, clock: Clock, policy_of: PolicyOf
    ) -> None:
        self._meta = meta
        self._domain = log_domain(domain)
        self._trimmer = trimmer
        self._clock = clock
        self._policy_of = policy_of

    async def run(self) -> None:
        """Apply retention to every stream once."""
        async for stream, found in self._heads():
            await self._try_stream(stream, found)

    async def plan(self) -> AsyncIterator[Trim]:
        """Return what `run` expires by the policies; damaged streams are logged and skipped."""
        async for stream, found in self._heads():
            try:
                trim = await self._trim_of(stream, decode_head(found.key, found.value))
            except (CorruptValue, LogDamaged) as error:
                _log.error("stream_sweep_failed", stream=f"{stream:016x}", error=str(error))
                continue
            if trim is not None:
                yield trim

    async def _heads(self) -> AsyncIterator[tuple[StreamId, Entry]]:
        after: StreamId | None = None
        while True:
            start, end = heads_range(after)
            page = await self._meta.scan(self._domain, start, end, limit=_PAGE)
            for found in page:
                stream = stream_of_head_key(found.key)
                if stream is not None:
                    after = stream
                    yield stream, found
            if len(page) < _PAGE:
                return

    async def _trim_of(self, stream: StreamId, head: StreamHead) -> Trim | None:
        start = head.log_start if head.deleted else await self._retained_from(stream, head)
        if start <= head.log_start:
            return None
        entries = [entry async for entry in self._entries_until(stream, head.log_start, start)]
        return Trim(stream, head.log_start, start, sum(entry.ingested_bytes for entry in entries))

    async def _entries_until(self, stream: StreamId, offset: int, end: int) -> AsyncIterator[IndexEntry]:
        while page := await self._entries(stream, offset):
            for entry in page:
                if entry.end_offset > end:
                    return
                yield entry
            offset = page[-1].end_offset

    async def _try_stream(self, stream: StreamId, found: Entry) -> None:
        """Apply retention to one stream; a damaged one is logged and must not block the others."""
        try:
            await self._run_stream(stream, decode_head(found.key, found.value))
        except (CorruptValue, LogDamaged) as error:
            _log.error("stream_sweep_failed", stream=f"{stream:016x}", error=str(error))

    async def _run_stream(self, stream: StreamId, head: StreamHead) -> None:
        if head.deleted:
            await self._trimmer.finish_deletion(stream)
            return
        await self._trimmer.remove_entries(stream, head.log_start)
        start = await self._retained_from(stream, head)
        if start > head.log_start:
            try:
                await self._trimmer.trim(stream, start)
            except StreamUnknown:
                return  # deleted in the meantime

    async def _retained_from(self, stream: StreamId, head: StreamHead) -> int:
        policy = self._policy_of(stream)
        if policy.retention_ms < 0 and policy.retention_bytes < 0:
            return head.log_start
        at, left = head.log_start, None
        if policy.is_compacted and policy.retention_bytes >= 0:
            left = await self._kept_bytes(stream, at)
        while True:
            page = await self._entries(stream, at)
            start = retained_from(head, page, policy, self._clock.now_ms(), left)
            if not page or start < page[-1].end_offset:
                return max(start, at)
            at = page[-1].end_offset
            if left is not None:
                left -= sum(entry.ingested_bytes for entry in page)

    async def _kept_bytes(self, stream: StreamId, offset: int) -> int:
        """Return the size, as produced, of the records kept from an offset on."""
        size = 0
        while page := await self._entries(stream, offset):
            size += sum(entry.ingested_bytes for entry in page)
            offset = page[-1].end_offset
        return size

    async def _entries(self, stream: StreamId, offset: int) -> list[IndexEntry]:
        start, end = entries_after(stream, offset)
        stored = await self._meta.scan(self._domain, start, end, limit=_PAGE)
        return [decode_entry(found.key, found.value) for found in stored]
