"""Framing: every request is preceded by its length in four bytes.

Bytes are received into a scratch buffer that all connections share; complete frames are copied out of it. A
frame that is not complete gets a buffer of its own, and the rest of it is received there. An idle connection
has no buffer.

A frame's buffer is never more than 4 KiB, or four times what was received of it: a client cannot make the
broker allocate memory by announcing a length. Growing copies a third of the frame at most, mostly nothing: a
client that sends fast fills the scratch buffer first, and four times that is a mebibyte. Memory is *claimed*
before a buffer is allocated or grown. After a refusal (`needs_memory`) nothing more may be received until
`grow` succeeds.

Each frame owns its buffer; decoded values are views of it.

Plain code: bytes in, frames out. The scratch buffer can be shared because the event loop runs nothing else
between `buffer` and `received`.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final

_LENGTH: Final = Struct(">i")
SCRATCH_BYTES: Final = 256 * 1024
_FIRST_BYTES: Final = 4 * 1024
_GROWTH: Final = 4
_TLS_HANDSHAKE: Final = 0x1603
"""How a ClientHello begins: as a length, it is more than a third of a gigabyte."""

Claim = Callable[[int], bool]
"""Asks whether a partial frame may use so many bytes of memory."""


class FrameTooLarge(Exception):
    """The announced length of a frame is negative or above the limit."""


class UnexpectedTls(FrameTooLarge):
    """The first bytes of a frame are those of a TLS handshake."""


class FrameDecoder:
    """Splits the bytes of one connection into frames."""

    __slots__ = (
        "_claim",
        "_filled",
        "_frame",
        "_frames_begun",
        "_received",
        "_scratch",
        "_size",
        "_wanted",
        "frame_bytes_max",
        "has_more",
    )

    def __init__(self, scratch: memoryview, frame_bytes_max: int, claim: Claim) -> None:
        self._scratch = scratch
        self.frame_bytes_max = frame_bytes_max
        self._claim = claim
        self._received: bytes | memoryview = b""
        self._frame: memoryview | None = None
        self._frames_begun = 0
        self._filled = 0
        self._size = 0
        self._wanted = 0
        self.has_more = False
        """Whether more frames than were asked for may have been received; `decode_more` returns them."""

    @property
    def needs_memory(self) -> bool:
        """Whether a claim was refused; nothing may be received until `grow` succeeds."""
        return self._wanted > 0

    @property
    def has_own_buffer(self) -> bool:
        """Whether the next bytes are received into a buffer whose memory was granted."""
        return self._frame is not None and not self._wanted

    @property
    def buffered_bytes(self) -> int:
        """Memory of what was received and is not part of a complete frame."""
        return len(self._received) if self._frame is None else len(self._frame)

    @property
    def progress(self) -> tuple[int, int]:
        """The number of the frame that has its own buffer, and how much of it was received."""
        return self._frames_begun, self._filled

    def buffer(self, bytes_max: int) -> memoryview:
        """Return the buffer for the next bytes, never empty; `bytes_max` limits the scratch buffer."""
        if self._frame is not None:
            return self._frame[self._filled :]
        start = len(self._received)
        self._scratch[:start] = self._received
        return self._scratch[start : start + max(bytes_max, _LENGTH.size)]

    def received(self, count: int, frames_max: int) -> list[memoryview]:
        """Return up to `frames_max` frames that `count` bytes put into `buffer` have completed."""
        if self._frame is not None:
            return self._received_rest(self._frame, count)
        return self._decode(self._scratch[: len(self._received) + count], frames_max)

    def decode_more(self, frames_max: int) -> list[memoryview]:
        """Return up to `frames_max` frames that were received before."""
        return self._decode(memoryview(self._received), frames_max)

    def grow(self) -> bool:
        """Claim again what was refused; returns whether it is granted now."""
        if not self._claim(self._wanted):
            return False
        wanted, self._wanted = self._wanted, 0
        if self._frame is None:
            received, self._received = memoryview(self._received), b""
            self._frame = _grown(received[_LENGTH.size :], wanted)
        else:
            self._frame = _grown(self._frame, wanted)
        return True

    def clear(self) -> None:
        """Release all buffers."""
        self._frame, self._received, self._wanted, self.has_more = None, b"", 0, False

    def _received_rest(self, frame: memoryview, count: int) -> list[memoryview]:
        self._filled += count
        if self._filled == self._size:
            self._frame = None
            return [frame]
        if self._filled == len(frame):
            self._wanted = min(self._size, _GROWTH * len(frame))
            self.grow()
        return []

    def _decode(self, received: memoryview, frames_max: int) -> list[memoryview]:
        frames: list[memoryview] = []
        start = 0
        while len(received) - start >= _LENGTH.size and len(frames) < frames_max:
            body, size = start + _LENGTH.size, self._size_at(received, start)
            if size > len(received) - body:
                self._begin_frame(size, received[start:])
                return frames
            frames.append(memoryview(bytes(received[body : body + size])))
            start = body + size
        self._keep(received[start:])
        return frames

    def _keep(self, rest: memoryview) -> None:
        """Keep the rest; if several steps will decode it, copy it out of the scratch buffer only once."""
        self.has_more = len(rest) >= _LENGTH.size
        is_copy = self.has_more and rest.obj is not self._scratch.obj
        self._received = rest if is_copy else bytes(rest)

    def _size_at(self, received: memoryview, start: int) -> int:
        size: int = _LENGTH.unpack_from(received, start)[0]
        if not 0 <= size <= self.frame_bytes_max:
            if size >> 16 == _TLS_HANDSHAKE:
                raise UnexpectedTls("the client speaks TLS, and this listener does not")
            raise FrameTooLarge(
                f"a request of {size} bytes was announced; at most {self.frame_bytes_max} are allowed "
                "(net.socket_request_max_bytes)"
            )
        return size

    def _begin_frame(self, size: int, received: memoryview) -> None:
        """Give a partial frame its own buffer, if memory for it is granted."""
        self._frames_begun += 1
        self._size, self._filled = size, len(received) - _LENGTH.size
        wanted = min(size, max(_FIRST_BYTES, _GROWTH * len(received)))
        if self._claim(wanted):
            self._frame, self._received = _grown(received[_LENGTH.size :], wanted), b""
        else:
            self._wanted, self._received = wanted, bytes(received)
        self.has_more = False


def _grown(beginning: memoryview, size: int) -> memoryview:
    """Return a buffer of `size` bytes that starts with `beginning`."""
    buffer = memoryview(bytearray(size))
    buffer[: len(beginning)] = beginning
    return buffer
