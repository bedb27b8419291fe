"""Cutting what comes in into frames: four bytes of length, then as many bytes.

Bytes are received into the buffer that `room` hands out. That is a scratch buffer shared by all connections
of a process, from which whole frames are copied out; a frame of which only the beginning has come is given a
buffer of its own at once, and the rest of it is received there. An idle connection holds nothing.

That buffer is never more than a mebibyte, or four times what has really come: a client cannot have memory
taken by naming a length. Frames up to a mebibyte are not copied again; longer ones at most once more.

A frame's buffer belongs to the frame: what is decoded from it are views of it.

Plain code: bytes in, frames out. The scratch buffer may be shared because the event loop never lets anything
else run between asking for room and telling what was received.
"""

from struct import Struct

_LENGTH = Struct(">i")
SCRATCH_BYTES = 256 * 1024
_FIRST_BYTES = 1 << 20
_GROWTH = 4


class FrameTooLarge(Exception):
    """A frame's length is not one that is accepted."""


class FrameCutter:
    """Cuts one connection's bytes into frames."""

    __slots__ = ("_beginning", "_filled", "_frame", "_frame_bytes_max", "_scratch", "_size")

    def __init__(self, scratch: memoryview, frame_bytes_max: int) -> None:
        self._scratch = scratch
        self._frame_bytes_max = frame_bytes_max
        self._beginning = b""
        self._frame: memoryview | None = None
        self._filled = 0
        self._size = 0

    @property
    def in_frame(self) -> bool:
        """Whether the beginning of a frame has come and its end has not."""
        return self._frame is not None or bool(self._beginning)

    def room(self) -> memoryview:
        """Return where the next bytes are to be put; never empty."""
        if self._frame is not None:
            return self._frame[self._filled :]
        held = len(self._beginning)
        self._scratch[:held] = self._beginning
        return self._scratch[held:]

    def received(self, count: int) -> list[memoryview]:
        """Take note of `count` bytes put into `room`; returns the frames that are complete now."""
        if self._frame is not None:
            return self._received_rest(self._frame, count)
        return self._cut(self._scratch[: len(self._beginning) + count])

    def _received_rest(self, frame: memoryview, count: int) -> list[memoryview]:
        self._filled += count
        if self._filled == self._size:
            self._frame = None
            return [frame]
        if self._filled == len(frame):
            self._frame = _longer(frame, min(self._size, _GROWTH * len(frame)))
        return []

    def drop(self) -> None:
        """Let go of a frame whose end will not come."""
        self._frame, self._beginning = None, b""

    def _cut(self, come: memoryview) -> list[memoryview]:
        frames = []
        start = 0
        while len(come) - start >= _LENGTH.size:
            size = self._size_at(come, start)
            start += _LENGTH.size
            if size > len(come) - start:
                self._begin_frame(size, come[start:])
                start = len(come)
                break
            frames.append(memoryview(bytes(come[start : start + size])))
            start += size
        self._beginning = bytes(come[start:])
        return frames

    def _size_at(self, come: memoryview, start: int) -> int:
        size: int = _LENGTH.unpack_from(come, start)[0]
        if not 0 <= size <= self._frame_bytes_max:
            raise FrameTooLarge(
                f"a request of {size} bytes came; at most {self._frame_bytes_max} are allowed"
            )
        return size

    def _begin_frame(self, size: int, beginning: memoryview) -> None:
        self._frame = _longer(beginning, min(size, _FIRST_BYTES))
        self._filled, self._size = len(beginning), size


def _longer(beginning: memoryview, size: int) -> memoryview:
    """Return a buffer of `size` bytes that begins like this."""
    buffer = memoryview(bytearray(size))
    buffer[: len(beginning)] = beginning
    return buffer
