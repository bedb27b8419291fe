"""Watch over streams: an event for a reader that waits at their ends, and which of them may have changed.

A reader that keeps its watch reads only streams that changed since it last looked: those that `take_changed`
returns after `catch_up`. Any other stream is as the reader saw it last, whichever broker appended to it.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Protocol

from dray.ids import StreamId
from dray.index import StreamHead
from dray.meta.port import MetaError


class Watched(Protocol):
    """The heads of the streams of one domain."""

    def known(self, stream: StreamId) -> StreamHead | None:
        """Return the cached head, if there is one; it may be a moment old."""
        ...

    def subscribe(self, stream: StreamId, watch: "StreamWatch") -> None:
        """Report to `watch` whenever the stream may have changed, until it is unsubscribed."""
        ...

    def unsubscribe(self, stream: StreamId, watch: "StreamWatch") -> None: ...

    async def sync(self) -> bool:
        """Wait until all changes up to now are reported; false if it takes long, or the watch is broken."""
        ...

    async def catch_up(self, streams: Sequence[StreamId]) -> None:
        """Report which of these streams have changed, up to now; raises `MetaError` if that is unknown."""
        ...


class StreamWatch(asyncio.Event):
    """Set whenever one of the streams may have changed."""

    def __init__(self, heads_of: Callable[[StreamId], Watched]) -> None:
        super().__init__()
        self._heads_of = heads_of
        self._streams: dict[Watched, dict[StreamId, None]] = {}
        self._changed: dict[StreamId, None] = {}
        self._closed = False

    @property
    def is_empty(self) -> bool:
        """Whether no stream is watched."""
        return not any(self._streams.values())

    def add(self, stream: StreamId) -> None:
        """Watch a stream, unless the watch is closed: a session may be evicted while its request waits."""
        if self._closed:
            return
        heads = self._heads_of(stream)
        self._streams.setdefault(heads, {})[stream] = None
        heads.subscribe(stream, self)

    def discard(self, stream: StreamId) -> None:
        heads = self._heads_of(stream)
        if self._streams.get(heads, {}).pop(stream, stream) is None:
            heads.unsubscribe(stream, self)
        self._changed.pop(stream, None)

    def close(self) -> None:
        """Stop watching, and end the wait of a reader."""
        for heads, streams in self._streams.items():
            for stream in streams:
                heads.unsubscribe(stream, self)
        self._streams.clear()
        self._closed = True
        self.set()

    def report(self, stream: StreamId) -> None:
        """Note that a stream may have changed, and wake the reader."""
        self._changed[stream] = None
        self.set()

    def known(self, stream: StreamId) -> StreamHead | None:
        """Return the cached head of a watched stream, if there is one."""
        return self._heads_of(stream).known(stream)

    def take_changed(self) -> list[StreamId]:
        """Return the streams that may have changed since the last call."""
        changed = list(self._changed)
        self._changed.clear()
        return changed

    async def sync(self) -> bool:
        """Note all changes that were committed before this call; false if that would take long."""
        with suppress(MetaError):
            return all([await heads.sync() for heads in list(self._streams)])
        return False

    async def catch_up(self, besides: Collection[StreamId] = ()) -> None:
        """Note all changes of streams, besides some, that were committed before this call."""
        for heads, streams in list(self._streams.items()):
            watched = [stream for stream in streams if stream not in besides]
            try:
                await heads.catch_up(watched)
            except MetaError:  # any of them may have changed; reading them raises the error
                for stream in watched:
                    self.report(stream)
