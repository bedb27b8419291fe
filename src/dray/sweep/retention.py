"""Carries out retention, and finishes what a dead process left half removed."""

from collections.abc import Callable

from dray.ids import MetaDomain, StreamId
from dray.index import (
    CorruptValue,
    IndexEntry,
    StreamHead,
    decode_entry,
    decode_head,
    domain_name,
    entries_after,
    heads_range,
    stream_of_head_key,
)
from dray.log import LogDamaged, StreamUnknown, Trimmer
from dray.meta.port import Domain, Entry, MetaStore
from dray.observe import get_logger
from dray.runtime import Clock
from dray.sweep.plan import RetentionPolicy, retained_from

_PAGE = 64
_log = get_logger("sweep")

PolicyOf = Callable[[StreamId], RetentionPolicy]


class Retention:
    """Walks the streams of one domain and gives up what is too old or too much."""

    def __init__(
        self, meta: MetaStore, domain: MetaDomain, trimmer: Trimmer, clock: Clock, policy_of: PolicyOf
    ) -> None:
        self._meta = meta
        self._domain = Domain(domain_name(domain))
        self._trimmer = trimmer
        self._clock = clock
        self._policy_of = policy_of

    async def run(self) -> None:
        """Go once through all streams."""
        after: StreamId | None = None
        while True:
            start, end = heads_range(after)
            page = await self._meta.scan(self._domain, start, end, limit=_PAGE)
            for found in page:
                stream = stream_of_head_key(found.key)
                if stream is not None:
                    after = stream
                    await self._try_stream(stream, found)
            if len(page) < _PAGE:
                return

    async def _try_stream(self, stream: StreamId, found: Entry) -> None:
        """One stream that is damaged must not keep the others from being looked after."""
        try:
            await self._run_stream(stream, decode_head(found.key, found.value))
        except (CorruptValue, LogDamaged) as error:
            _log.error("stream_not_swept", stream=f"{stream:016x}", error=str(error))

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
                return  # deleted meanwhile

    async def _retained_from(self, stream: StreamId, head: StreamHead) -> int:
        policy = self._policy_of(stream)
        if policy == RetentionPolicy():
            return head.log_start
        at = head.log_start
        while True:
            page = await self._entries(stream, at)
            start = retained_from(head, page, policy, self._clock.now_ms())
            if not page or start < page[-1].end_offset:
                return max(start, at)
            at = page[-1].end_offset

    async def _entries(self, stream: StreamId, offset: int) -> list[IndexEntry]:
        start, end = entries_after(stream, offset)
        stored = await self._meta.scan(self._domain, start, end, limit=_PAGE)
        return [decode_entry(found.key, found.value) for found in stored]
