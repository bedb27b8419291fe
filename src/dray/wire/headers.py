"""Frames, and the headers of requests and responses.

    frame         length i32, then header and body
    request v1    api key i16, api version i16, correlation id i32, client id as nullable string
    request v2    the same (the client id keeps its 2-byte length), then tagged fields
    response v0   correlation id i32
    response v1   the same, then tagged fields

Flexible versions of a body have request header 2 and response header 1. Request header 0 belonged to a single
request of old brokers and was removed from Kafka.
"""

from struct import Struct, error
from typing import Final, NamedTuple

from dray.wire.errors import DecodeError, Truncated
from dray.wire.varint import skip_tags

LENGTH_BYTES: Final = 4

_FIXED: Final = Struct(">hhi")
_WITH_LENGTH: Final = Struct(">hhih")
_CORRELATION: Final = Struct(">i")


class RequestHeader(NamedTuple):
    """The header of a request."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


def peek(frame: memoryview | bytes | bytearray) -> tuple[int, int, int]:
    """Return API key, version and correlation id, which all request headers start with."""
    try:
        return _FIXED.unpack_from(frame)
    except error:
        raise _too_short(frame) from None


def read_request_header(frame: memoryview, *, flexible: bool) -> tuple[RequestHeader, int]:
    """Return the header and the position of the body."""
    try:
        key, version, correlation_id, length = _WITH_LENGTH.unpack_from(frame)
        start = _WITH_LENGTH.size
        stop = start + max(length, 0)
        if stop > len(frame):
            raise _too_short(frame)
        client_id = str(frame[start:stop], "utf-8", "replace") if length >= 0 else None
        if flexible:
            tags = frame[stop]
            stop = skip_tags(frame, stop + 1, tags) if tags else stop + 1
    except (error, IndexError, DecodeError):
        raise _too_short(frame) from None
    return RequestHeader(key, version, correlation_id, client_id), stop


def read_response_header(frame: memoryview, *, flexible: bool) -> tuple[int, int]:
    """Return the correlation id and the position of the body."""
    try:
        (correlation_id,) = _CORRELATION.unpack_from(frame)
        stop = _CORRELATION.size
        if flexible:
            stop = skip_tags(frame, stop + 1, frame[stop])
    except (error, IndexError, DecodeError):
        raise _too_short(frame) from None
    return correlation_id, stop


def request_header_bytes(header: RequestHeader, *, flexible: bool) -> bytes:
    """Encode a request header."""
    client_id = None if header.client_id is None else header.client_id.encode()
    length = -1 if client_id is None else len(client_id)
    fixed = _WITH_LENGTH.pack(header.api_key, header.api_version, header.correlation_id, length)
    return fixed + (client_id or b"") + (b"\0" if flexible else b"")


def _too_short(frame: memoryview | bytes | bytearray) -> Truncated:
    return Truncated(f"the header does not fit in the frame of {len(frame)} bytes")
