"""Stream heads as this process knows them, kept true by the store's watch.

A known head may be a moment old. That is good enough to serve what lies below its high watermark, which never
changes. To say that there is *nothing more* the head is read anew, so that a reader always sees what
was acknowledged to it by whichever broker.

While the watch is broken nothing is known, and every question goes to the store.

The same watch tells when records of a stream were left out of its index: then its cached entries go.
"""

import asyncio
from collections import OrderedDict

from dray.ids import StreamId
from dray.index import STREAMS_PREFIX, StreamHead, stream_of_cleaned_key, stream_of_head_key
from dray.log.index_cache import IndexCache
from dray.log.states import StreamStates, read_head
from dray.meta.following import follow
from dray.meta.port import ChangeBatch, Domain, MetaStore
from dray.runtime import Clock, Tasks

_HEADS_MAX = 50_000


class Heads:
    """The heads of one domain's streams."""

    def __init__(
        self, meta: MetaStore, domain: Domain, states: StreamStates, index: IndexCache, clock: Clock
    ) -> None:
        self._meta = meta
        self._domain = domain
        self._states = states
        self._index = index
        self._clock = clock
        self._watching = asyncio.Event()
        self._heads: OrderedDict[StreamId, StreamHead] = OrderedDict()
        self._forgotten = 0
        self._forgotten_at: OrderedDict[StreamId, int] = OrderedDict()
        self._forgotten_at_least = 0
        self._waiters: dict[StreamId, dict[asyncio.Event, None]] = {}

    async def start(self, tasks: Tasks) -> None:
        """Begin to watch; returns when changes are being told."""
        following = follow(
            self._meta, self._domain, STREAMS_PREFIX, self._clock, take=self._take, lost=self._lose
        )
        tasks.start(following, name=f"watch-{self._domain}")
        await self._watching.wait()

    def known(self, stream: StreamId) -> StreamHead | None:
        """Return a head that was true a moment ago, if one is at hand."""
        return self._heads.get(stream) if self._watching.is_set() else None

    async def fresh(self, stream: StreamId) -> StreamHead:
        """Return a head that is true after this call began."""
        mark = self.mark()
        head, _ = await read_head(self._meta, self._domain, stream)
        return self.learn(stream, head, mark)

    def mark(self) -> int:
        """Return a moment, for `learn`: take it before a head is read or committed."""
        return self._forgotten

    def learn(self, stream: StreamId, head: StreamHead, mark: int) -> StreamHead:
        """Take note of a head; returns the newest one known, and wakes whoever waits for it.

        One that was on its way while the watch told of a change may be from before it, and nothing would ever
        correct it; so it is not kept.
        """
        old = self._heads.get(stream)
        if old is not None and _newer(old, head):
            return old
        if mark >= self._forgotten_at.get(stream, self._forgotten_at_least):
            self._keep(stream, head)
        if old is None or head.high_watermark > old.high_watermark:
            self._wake(stream)
        return head

    def _keep(self, stream: StreamId, head: StreamHead) -> None:
        self._heads[stream] = head
        self._heads.move_to_end(stream)
        if len(self._heads) > _HEADS_MAX:
            self._heads.popitem(last=False)

    def forget(self, stream: StreamId) -> None:
        """Let the next question go to the store."""
        self._heads.pop(stream, None)
        self._forgotten += 1
        self._forgotten_at[stream] = self._forgotten
        self._forgotten_at.move_to_end(stream)
        if len(self._forgotten_at) > _HEADS_MAX:
            _, self._forgotten_at_least = self._forgotten_at.popitem(last=False)

    def _forget_all(self) -> None:
        self._heads.clear()
        self._forgotten += 1
        self._forgotten_at.clear()
        self._forgotten_at_least = self._forgotten

    def enlist(self, stream: StreamId, changed: asyncio.Event) -> None:
        """Have `changed` set whenever the stream may have grown, until it is dismissed."""
        self._waiters.setdefault(stream, {})[changed] = None

    def dismiss(self, stream: StreamId, changed: asyncio.Event) -> None:
        waiters = self._waiters.get(stream)
        if waiters is not None:
            waiters.pop(changed, None)
            if not waiters:
                del self._waiters[stream]

    def _wake(self, stream: StreamId) -> None:
        for changed in self._waiters.get(stream, ()):
            changed.set()

    async def _take(self, batch: ChangeBatch, missed: bool) -> None:
        if missed:
            self._states.forget_all()
            self._index.drop_all()
            self._forget_all()
            self._watching.set()
            for waited in list(self._waiters):
                self._wake(waited)
        for change in batch.changes:
            stream = stream_of_head_key(change.key)
            if stream is not None:
                if not self._states.is_own(stream, change.version):
                    self._states.forget((stream,))
                    self.forget(stream)
                self._wake(stream)
            elif (cleaned := stream_of_cleaned_key(change.key)) is not None:
                self._index.drop(cleaned)

    def _lose(self) -> None:
        """Whatever ended the watch, what is known is not to be trusted now."""
        self._watching.clear()
        self._forget_all()


def _newer(one: StreamHead, other: StreamHead) -> bool:
    return (one.high_watermark, one.log_start) > (other.high_watermark, other.log_start)
