"""Memory for requests: how much each connection may use, and which ones wait for more.

A request uses memory from its first byte until it is answered. Most of the broker's limit is *shared*, first
come, first served. The rest is *reserved*: it is divided evenly among the open connections, so that each has
its share whatever the others use. However many connections there are, each may use `CONNECTION_BYTES_MIN`,
which is enough for every request that carries no records.

So a connection without requests can always receive one that fits its share. A larger one has to *claim*
memory: its buffer is allocated, or grown, only when the claim is granted. Claims are granted in order, and
while one waits no other connection gets shared memory. Connections without a claim are *paused* while no
shared memory is left: they are not read.

Complete requests will be answered, so their memory will be free again; partial ones may never be completed.
If those alone leave no memory for the first claim, it is granted beyond the limit, one at a time. Memory is
therefore bounded by the limit, the minimum of every connection, and one request of the largest size.

Plain code, except that waiting connections are resumed from the event loop: memory is freed in the middle of
other work.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from dray.net.frames import SCRATCH_BYTES, FrameDecoder
from dray.net.settings import NetSettings

CONNECTION_BYTES_MIN: Final = 16 * 1024
REQUEST_OVERHEAD_BYTES: Final = 512
"""About what a request uses besides its bytes."""
_RESERVED_DIVISOR: Final = 4
"""A quarter of the limit is reserved."""
_STEP_BYTES: Final = 1 << 20
"""More than a connection uses in one step; for each such piece of free memory one is resumed."""
_SLOW_BYTES: Final = 64 * 1024
"""A sender of less than this from one check to the next blocks the connections that wait for memory."""


class BrokerBudget:
    """The memory of all connections."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._reserved = limit // _RESERVED_DIVISOR
        self._shared = limit - self._reserved
        self._open = 0
        self._over_limit: ConnectionBudget | None = None
        self._claims: dict[ConnectionBudget, None] = {}
        self._paused: dict[ConnectionBudget, None] = {}
        self._resume_is_scheduled = False
        self.used = 0
        self.partial = 0
        """How much of that is used by partial requests."""

    @property
    def waiting(self) -> int:
        """How many connections are not read because there is no memory."""
        return len(self._claims) + len(self._paused)

    @property
    def is_blocked(self) -> bool:
        """Whether connections wait because of requests that are not completed."""
        return self.waiting > 0 and self.partial >= self._reserved

    def open(self) -> None:
        """Count one more connection."""
        self._open += 1

    def close(self, connection: "ConnectionBudget") -> None:
        """Forget a connection that uses nothing any more."""
        self._open -= 1
        self._claims.pop(connection, None)
        self._paused.pop(connection, None)
        if self._over_limit is connection:
            self._over_limit = None
        self._memory_freed()

    def available(self, connection: "ConnectionBudget") -> int:
        """Return how many more bytes a connection may use; may be negative."""
        shared = self._shared - self.used
        if self._claims and not self._is_first(connection):
            shared = 0
        if shared >= _STEP_BYTES:
            return shared
        used = connection.used
        share = min(self._limit - self.used, self._reserved // max(self._open, 1) - used)
        return max(shared, share, CONNECTION_BYTES_MIN - used)

    def use(self, change: int, *, partial: int = 0) -> None:
        """Count a change of the memory in use, and of the part that partial requests use."""
        self.used += change
        self.partial += partial
        if change < 0 and (self._claims or self._paused or self._over_limit):
            self._memory_freed()

    def grant(self, connection: "ConnectionBudget", more: int) -> bool:
        """Grant a claim if there is memory, or if nothing could ever make progress without it."""
        granted = more <= self.available(connection)
        if not granted and self._may_exceed_limit(connection, more):
            self._over_limit, connection.is_over_limit = connection, True
            granted = True
        if granted:
            self._claims.pop(connection, None)
        return granted

    def queue_claim(self, connection: "ConnectionBudget") -> None:
        """Resume the connection until it has its claim granted, after those before it."""
        self._claims.setdefault(connection)

    def pause(self, connection: "ConnectionBudget") -> None:
        """Resume the connection once, when there is shared memory."""
        self._paused.setdefault(connection)

    def _is_first(self, connection: "ConnectionBudget") -> bool:
        return next(iter(self._claims)) is connection

    def _may_exceed_limit(self, connection: "ConnectionBudget", more: int) -> bool:
        """Whether there would be no memory even if all complete requests were answered."""
        if self._over_limit is not None:
            return connection.is_over_limit
        is_first = not self._claims or self._is_first(connection)
        return is_first and self.partial + more > self._shared

    def _memory_freed(self) -> None:
        if self._over_limit is not None and self._over_limit.used <= CONNECTION_BYTES_MIN:
            self._over_limit = None
        if self.waiting and not self._resume_is_scheduled:
            self._resume_is_scheduled = True
            asyncio.get_running_loop().call_soon(self._resume)

    def _resume(self) -> None:
        self._resume_is_scheduled = False
        while self._claims:
            first = next(iter(self._claims))
            if not first.resume():
                return
            self._claims.pop(first, None)
        self._resume_paused()

    def _resume_paused(self) -> None:
        """Resume as many as there is memory for; the others follow when these have read."""
        free = self._shared - self.used
        if not self._paused or free <= 0:
            return
        for connection in list(self._paused)[: 1 + free // _STEP_BYTES]:
            del self._paused[connection]
            connection.resume()
        self._memory_freed()


class ConnectionBudget:
    """The requests of one connection, from their first byte to their answers, and the memory they use.

    The connection may be read while neither too many of its requests nor too many bytes of them wait for
    answers, and the broker has memory for more.
    """

    def __init__(
        self,
        broker: BrokerBudget,
        settings: NetSettings,
        *,
        scratch: memoryview,
        memory_free: Callable[[], None],
    ) -> None:
        broker.open()
        self._broker = broker
        self._settings = settings
        self._memory_free = memory_free
        self._decoder = FrameDecoder(scratch, settings.socket_request_max_bytes, self.claim)
        self._progress: tuple[int, int] | None = None
        self._open = 0
        self.requests = 0
        """Memory of complete requests."""
        self.partial = 0
        """Memory of the request that is being received."""
        self.is_over_limit = False
        """Whether the request that is being received was granted memory beyond the limit."""
        self.frames: deque[memoryview] = deque()
        """Requests that have been received and not begun."""

    @property
    def idle(self) -> bool:
        """Whether no request waits for its answer."""
        return self._open == 0

    @property
    def used(self) -> int:
        return self.requests + self.partial

    def limit_request(self, bytes_max: int | None) -> None:
        """Lower the maximum size of further requests, or with None, restore that of the settings."""
        largest = self._settings.socket_request_max_bytes
        self._decoder.frame_bytes_max = largest if bytes_max is None else min(bytes_max, largest)

    # Receiving

    def buffer(self) -> memoryview:
        """Return the buffer for the next bytes."""
        return self._decoder.buffer(min(self._broker.available(self), SCRATCH_BYTES))

    def received(self, count: int) -> None:
        """Decode `count` bytes that were put into `buffer`; raises `FrameTooLarge`."""
        self._take(self._decoder.received(count, self._frames_max()))
        if self._decoder.has_more:
            self._decode_more()

    def answered(self, frame_bytes: int) -> None:
        """Free the memory of a request; raises `FrameTooLarge` for one that was received after it."""
        self._open -= 1
        self.release(frame_bytes + REQUEST_OVERHEAD_BYTES)
        if self._decoder.has_more:
            self._decode_more()

    def may_read(self) -> bool:
        """Return whether the connection may be read now; if it waits for memory, it will be resumed."""
        if self._has_too_many() or self._decoder.has_more:
            return False
        if self._decoder.needs_memory and not self._decoder.grow():
            self._broker.queue_claim(self)
            return False
        if not self._decoder.has_own_buffer and self._broker.available(self) <= 0:
            self._broker.pause(self)
            return False
        return True

    def is_slow(self) -> bool:
        """Return whether hardly anything of the same request was received since the last call."""
        before = self._progress
        self._progress = self._decoder.progress if self._decoder.has_own_buffer else None
        if before is None or self._progress is None or before[0] != self._progress[0]:
            return False
        return self._progress[1] - before[1] < _SLOW_BYTES

    def forget_progress(self) -> None:
        """Let the next call of `is_slow` be the first, because the connection was not read."""
        self._progress = None

    def resume(self) -> bool:
        """Resume reading if there is memory now; returns whether there is."""
        if self._decoder.needs_memory and not self._decoder.grow():
            return False
        self._memory_free()
        return True

    def close(self) -> None:
        """Free all memory; the requests are abandoned."""
        self.frames.clear()
        self._decoder.clear()
        self.release(self.requests)
        self.set_partial(0)
        self._broker.close(self)

    # Accounting

    def add(self, size: int) -> None:
        """Count complete requests."""
        self.requests += size
        self._broker.use(size)

    def release(self, size: int) -> None:
        """Free the memory of complete requests."""
        self.requests -= size
        self._broker.use(-size)

    def set_partial(self, size: int) -> None:
        """Count the memory of the request that is being received."""
        change = size - self.partial
        if change:
            self.partial = size
            self.is_over_limit = self.is_over_limit and change > 0
            self._broker.use(change, partial=change)

    def claim(self, size: int) -> bool:
        """Use that much memory for the request that is being received, if it is granted."""
        granted = self._broker.grant(self, size - self.partial)
        if granted:
            self.set_partial(size)
        return granted

    def _take(self, frames: list[memoryview]) -> None:
        if frames:
            self.frames.extend(frames)
            self._open += len(frames)
            self.add(sum(map(len, frames)) + len(frames) * REQUEST_OVERHEAD_BYTES)
        self.set_partial(self._decoder.buffered_bytes)

    def _decode_more(self) -> None:
        """Decode requests that were received together: at least one, or none would follow."""
        while (
            self._decoder.has_more
            and not self._has_too_many()
            and (self.idle or self._broker.available(self) > 0)
        ):
            self._take(self._decoder.decode_more(self._frames_max()))

    def _frames_max(self) -> int:
        """Return how many requests to decode at once: all that were received, unless many tiny ones were."""
        affordable = max(self._broker.available(self) // REQUEST_OVERHEAD_BYTES, 1)
        return min(affordable, self._settings.in_flight_requests_max)

    def _has_too_many(self) -> bool:
        return (
            self.requests > self._settings.in_flight_bytes_max
            or self._open > self._settings.in_flight_requests_max
        )
