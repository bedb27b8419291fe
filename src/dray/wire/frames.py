"""Frames: every request and response is preceded by its length, a 4-byte integer."""

from struct import Struct, error
from typing import Final

from typing_extensions import Buffer

from dray.wire.faults import BadFrame

LENGTH_BYTES: Final = 4
# Kafka's default for socket.request.max.bytes.
FRAME_BYTES_MAX: Final = 100 * 1024 * 1024
# API key, version and correlation id: nothing shorter can even be answered.
FRAME_BYTES_MIN: Final = 8

_LENGTH: Final = Struct(">i")


def frame_length(prefix: Buffer, *, bytes_max: int = FRAME_BYTES_MAX) -> int:
    """Return how many bytes follow these four; `BadFrame` if no sane peer would send so few or so many."""
    try:
        (length,) = _LENGTH.unpack_from(prefix)
    except error:
        raise BadFrame("a length has 4 bytes") from None
    if not FRAME_BYTES_MIN <= length <= bytes_max:
        raise BadFrame(f"a frame of {length} bytes; it must have {FRAME_BYTES_MIN} to {bytes_max}")
    return int(length)
