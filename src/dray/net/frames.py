"""Cutting what comes in into frames: four bytes of length, then as many bytes.

Bytes are received into the buffer that `room` hands out. That is a scratch buffer shared by all connections
of a process, from which whole frames are copied out; a frame of which only the beginning has come is given a
buffer of its own, and the rest of it is received there. An idle connection holds nothing.

That buffer is never more than 4 KiB, or four times what has really come: a client cannot have memory taken by
naming a length. What is copied when it is made longer is a third of the frame at most, and mostly nothing: a
client that sends fast fills the scratch buffer first, and four times that is a mebibyte. Before the buffer is
made, or made longer, it is *claimed*. While the claim is refused nothing more may be received, and the cutter
keeps just what has come (`wants_more`), until `go_on` claims again.

A frame's buffer belongs to the frame: what is decoded from it are views of it.

Plain code: bytes in, frames out. The scratch buffer may be shared because the event loop never lets anything
else run between asking for room and telling what was received.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final

_LENGTH: Final = Struct(">i")
SCRATCH_BYTES: Final = 256 * 1024
_FIRST_BYTES: Final = 4 * 1024
_GROWTH: Final = 4

Claim = Callable[[int], bool]
"""Asks whether a frame that has not come to its end may take so many bytes of memory."""


class FrameTooLarge(Exception):
    """A frame's length is not one that is accepted."""


class FrameCutter:
    """Cuts one connection's bytes into frames."""

    __slots__ = (
        "_beginning",
        "_claim",
        "_filled",
        "_frame",
        "_frame_bytes_max",
        "_frames_begun",
        "_scratch",
        "_size",
        "_wanted",
        "uncut",
    )

    def __init__(self, scratch: memoryview, frame_bytes_max: int, claim: Claim) -> None:
        self._scratch = scratch
        self._frame_bytes_max = frame_bytes_max
        self._claim = claim
        self._beginning: bytes | memoryview = b""
        self._frame: memoryview | None = None
        self._frames_begun = 0
        self._filled = 0
        self._size = 0
        self._wanted = 0
        self.uncut = False
        """Whether more frames than were asked for may have come; `more` cuts them."""

    @property
    def wants_more(self) -> bool:
        """Whether a claim was refused; until `go_on` succeeds there is no room."""
        return self._wanted > 0

    @property
    def in_own_buffer(self) -> bool:
        """Whether what comes next is received into a buffer that was granted."""
        return self._frame is not None and not self._wanted

    @property
    def held(self) -> int:
        """The memory of what has come and is not part of a frame that was handed out."""
        return len(self._beginning) if self._frame is None else len(self._frame)

    @property
    def progress(self) -> tuple[int, int]:
        """Which frame of its own buffer this is, by number, and how much of it has come."""
        return self._frames_begun, self._filled

    def room(self, most: int) -> memoryview:
        """Return where the next bytes are to be put; unless they have a buffer, `most`. Never empty."""
        if self._frame is not None:
            return self._frame[self._filled :]
        held = len(self._beginning)
        self._scratch[:held] = self._beginning
        return self._scratch[held : held + max(most, _LENGTH.size)]

    def received(self, count: int, most: int) -> list[memoryview]:
        """Take note of `count` bytes put into `room`; returns frames that are complete, at most `most`."""
        if self._frame is not None:
            return self._received_rest(self._frame, count)
        return self._cut(self._scratch[: len(self._beginning) + count], most)

    def more(self, most: int) -> list[memoryview]:
        """Return frames that came before and were not asked for."""
        return self._cut(memoryview(self._beginning), most)

    def go_on(self) -> bool:
        """Claim again what was refused; says whether it is granted now."""
        if not self._claim(self._wanted):
            return False
        wanted, self._wanted = self._wanted, 0
        if self._frame is None:
            come, self._beginning = memoryview(self._beginning), b""
            self._frame = _longer(come[_LENGTH.size :], wanted)
        else:
            self._frame = _longer(self._frame, wanted)
        return True

    def drop(self) -> None:
        """Let go of everything that has come."""
        self._frame, self._beginning, self._wanted, self.uncut = None, b"", 0, False

    def _received_rest(self, frame: memoryview, count: int) -> list[memoryview]:
        self._filled += count
        if self._filled == self._size:
            self._frame = None
            return [frame]
        if self._filled == len(frame):
            self._wanted = min(self._size, _GROWTH * len(frame))
            self.go_on()
        return []

    def _cut(self, come: memoryview, most: int) -> list[memoryview]:
        frames: list[memoryview] = []
        start = 0
        while len(come) - start >= _LENGTH.size and len(frames) < most:
            body, size = start + _LENGTH.size, self._size_at(come, start)
            if size > len(come) - body:
                self._begin_frame(size, come[start:])
                return frames
            frames.append(memoryview(bytes(come[body : body + size])))
            start = body + size
        self._keep(come[start:])
        return frames

    def _keep(self, rest: memoryview) -> None:
        """Keep what is left; what will be cut into many pieces is copied out of the scratch buffer once."""
        self.uncut = len(rest) >= _LENGTH.size
        of_its_own = self.uncut and rest.obj is not self._scratch.obj
        self._beginning = rest if of_its_own else bytes(rest)

    def _size_at(self, come: memoryview, start: int) -> int:
        size: int = _LENGTH.unpack_from(come, start)[0]
        if not 0 <= size <= self._frame_bytes_max:
            raise FrameTooLarge(
                f"a request of {size} bytes came; at most {self._frame_bytes_max} are allowed"
            )
        return size

    def _begin_frame(self, size: int, come: memoryview) -> None:
        """Give the frame a buffer of its own, if that is granted; `come` begins with its length."""
        self._frames_begun += 1
        self._filled, self._size = len(come) - _LENGTH.size, size
        wanted = min(size, max(_FIRST_BYTES, _GROWTH * len(come)))
        if self._claim(wanted):
            self._frame, self._beginning = _longer(come[_LENGTH.size :], wanted), b""
        else:
            self._wanted, self._beginning = wanted, bytes(come)
        self.uncut = False


def _longer(beginning: memoryview, size: int) -> memoryview:
    """Return a buffer of `size` bytes that begins like this."""
    buffer = memoryview(bytearray(size))
    buffer[: len(beginning)] = beginning
    return buffer
