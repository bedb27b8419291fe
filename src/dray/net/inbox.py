"""What has come of one connection and waits: requests to be begun or answered, and the beginning of the next.

Decides whether the connection may be read. It is not while too many of its requests wait, or too many bytes
of them; nor while the broker as a whole has no room for more (`intake`). Plain code: the connection acts on
it.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

from dray.net.frames import SCRATCH_BYTES, FrameCutter
from dray.net.intake import Intake
from dray.net.settings import NetSettings

REQUEST_OVERHEAD_BYTES: Final = 512
"""About what a request takes besides its bytes."""
_SLOW_BYTES: Final = 64 * 1024
"""Who sends less of a request than this from one look to the next holds up those who wait for room."""


class Inbox:
    """The requests of one connection, from their first byte to their answer."""

    __slots__ = ("_account", "_cutter", "_open", "_room_came", "_seen", "_settings", "frames")

    def __init__(
        self, scratch: memoryview, settings: NetSettings, intake: Intake, room_came: Callable[[], None]
    ) -> None:
        self._settings = settings
        self._room_came = room_came
        self._account = intake.open(self._woken)
        self._cutter = FrameCutter(scratch, settings.request_bytes_max, self._account.claim)
        self._seen: tuple[int, int] | None = None
        self._open = 0
        self.frames: deque[memoryview] = deque()
        """Requests that have come and are not begun."""

    @property
    def idle(self) -> bool:
        """Whether nothing that was asked waits for an answer."""
        return self._open == 0

    def room(self) -> memoryview:
        """Return where the next bytes are to be put."""
        return self._cutter.room(min(self._account.left, SCRATCH_BYTES))

    def received(self, count: int) -> None:
        """Take note of `count` bytes put into `room`; raises `FrameTooLarge`."""
        self._take(self._cutter.received(count, self._most()))
        if self._cutter.uncut:
            self._take_uncut()

    def answered(self, frame_bytes: int) -> None:
        """Take note that a request of that size is done with."""
        self._open -= 1
        self._account.release(frame_bytes + REQUEST_OVERHEAD_BYTES)
        if self._cutter.uncut:
            self._take_uncut()

    def may_read(self) -> bool:
        """Whether the connection is to be read now; if it waits for room, it will be woken."""
        if self._too_much_waits() or self._cutter.uncut:
            return False
        if self._cutter.wants_more and not self._cutter.go_on():
            self._account.stand_in_line()
            return False
        if not self._cutter.in_own_buffer and self._account.left <= 0:
            self._account.stand_by()
            return False
        return True

    def lags(self) -> bool:
        """Whether hardly anything has come of the next request since this was asked last."""
        before, self._seen = self._seen, self._cutter.progress if self._cutter.in_own_buffer else None
        if before is None or self._seen is None or before[0] != self._seen[0]:
            return False
        return self._seen[1] - before[1] < _SLOW_BYTES

    def close(self) -> None:
        """Let go of everything: nobody is left to be answered."""
        self.frames.clear()
        self._cutter.drop()
        self._account.close()

    def _take(self, frames: list[memoryview]) -> None:
        if frames:
            self.frames.extend(frames)
            self._open += len(frames)
            self._account.add(sum(map(len, frames)) + len(frames) * REQUEST_OVERHEAD_BYTES)
        self._account.hold(self._cutter.held)

    def _take_uncut(self) -> None:
        """Go on with requests that came together with others; with one at least, or nothing would follow."""
        while self._cutter.uncut and not self._too_much_waits() and (self._account.left > 0 or self.idle):
            self._take(self._cutter.more(self._most()))

    def _most(self) -> int:
        """How many requests may be taken at a time: those of one read, unless they are tiny and many."""
        room = max(self._account.left // REQUEST_OVERHEAD_BYTES, 1)
        return min(room, self._settings.in_flight_requests_max)

    def _too_much_waits(self) -> bool:
        return (
            self._account.requests > self._settings.in_flight_bytes_max
            or self._open > self._settings.in_flight_requests_max
        )

    def _woken(self) -> bool:
        """There may be room: go on if there is enough."""
        if self._cutter.wants_more and not self._cutter.go_on():
            return False
        self._room_came()
        return True
