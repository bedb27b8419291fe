"""Memory for the requests of one connection, from their first byte to their answers."""

from collections import deque
from collections.abc import Callable
from typing import Final

from dray.net.budget import BrokerBudget
from dray.net.frames import SCRATCH_BYTES, FrameDecoder
from dray.net.settings import NetSettings

REQUEST_OVERHEAD_BYTES: Final = 512
"""About what a request uses besides its bytes."""
_SLOW_BYTES: Final = 64 * 1024
"""A sender of less than this from one check to the next blocks the connections that wait for memory."""


class ConnectionBudget:
    """The requests of one connection and the memory they use.

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
