"""Encoding and decoding of complete requests and responses: length, header and body.

Decoding takes a frame without its length; encoding returns buffers that start with the length. Bytes after
the end of a body are ignored, as in Kafka.

The client half (`encode_request`, `decode_response`) serves tests and benchmarks.
"""

from functools import cache
from struct import Struct
from typing import Final, TypeVar

from typing_extensions import Buffer

from dray.wire.api import Api, Message
from dray.wire.compiled import Decode, Encode, decoder, encoder
from dray.wire.headers import (
    LENGTH_BYTES,
    RequestHeader,
    peek,
    read_request_header,
    read_response_header,
    request_header_bytes,
)
from dray.wire.registry import api_of

M = TypeVar("M", bound=Message)

_LENGTH: Final = Struct(">i")
_RESPONSE_V0: Final = Struct(">ii")
_RESPONSE_V1: Final = Struct(">iix")


def decode_request(frame: Buffer) -> tuple[RequestHeader, Message]:
    """Return header and body of a request; records in it are views into `frame`.

    Raises `UnknownApi`, `UnknownVersion` or `DecodeError`.
    """
    key, version, _ = peek(memoryview(frame))
    return decode_peeked_request(api_of(key), version, frame)


def decode_peeked_request(api: Api, version: int, frame: Buffer) -> tuple[RequestHeader, Message]:
    """Return header and body of a request whose API and version have been read by `peek`."""
    view = memoryview(frame)
    decode, flexible = _request_decoder(api, version)
    header, position = read_request_header(view, flexible=flexible)
    body, _ = decode(view, position)
    return header, body


def encode_response(api: Api, version: int, correlation_id: int, response: Message) -> list[Buffer]:
    """Return a response with its length, as buffers to be sent in order. Records are not copied.

    Fields that the version lacks are omitted, so handlers need not know what an old client understands.
    """
    encode, head = _response_encoder(api, version)
    first = bytearray(head.pack(0, correlation_id))
    return _with_length(encode(response, first), first)


def encode_request(api: Api, header: RequestHeader, request: Message) -> list[Buffer]:
    """Return a request with its length, as buffers to be sent in order."""
    version = header.api_version
    api.check(version)
    flexible = api.is_flexible(version)
    first = bytearray(LENGTH_BYTES) + request_header_bytes(header, flexible=flexible)
    encode = encoder(type(request), version, flexible=flexible)
    return _with_length(encode(request, first), first)


def decode_response(api: Api, version: int, frame: Buffer) -> tuple[int, Message]:
    """Return correlation id and body of a response."""
    view = memoryview(frame)
    api.check(version)
    correlation_id, position = read_response_header(view, flexible=api.response_header_version(version) == 1)
    decode = decoder(api.response, version, flexible=api.is_flexible(version))
    body: Message = decode(view, position)[0]
    return correlation_id, body


def decode_body(api: Api, message: type[M], version: int, body: Buffer) -> tuple[M, int]:
    """Return a request or response without header, and its length in bytes."""
    api.check(version)
    return decoder(message, version, flexible=api.is_flexible(version))(memoryview(body), 0)


def encode_body(api: Api, version: int, message: Message) -> list[Buffer]:
    """Return a request or response without header, as buffers."""
    api.check(version)
    return encoder(type(message), version, flexible=api.is_flexible(version))(message, bytearray())


def _with_length(buffers: list[Buffer], first: bytearray) -> list[Buffer]:
    size_bytes = sum(map(len, buffers))  # type: ignore[arg-type]
    _LENGTH.pack_into(first, 0, size_bytes - LENGTH_BYTES)
    return buffers


@cache
def _request_decoder(api: Api, version: int) -> tuple[Decode, bool]:
    api.check(version)
    flexible = api.is_flexible(version)
    return decoder(api.request, version, flexible=flexible), flexible


@cache
def _response_encoder(api: Api, version: int) -> tuple[Encode, Struct]:
    api.check(version)
    head = _RESPONSE_V1 if api.response_header_version(version) else _RESPONSE_V0
    return encoder(api.response, version, flexible=api.is_flexible(version), strict=False), head
