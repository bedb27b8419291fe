"""Codec of the Kafka wire protocol: bytes to messages and back. Pure: no sockets, no clock, no logging.

There is one class for each message, with the fields of all versions; differences between versions are known
only here. Annotations on the fields say which versions have them (`dray.wire.apis`, generated from kio's
schemas). On first use of a version, two straight-line functions are compiled from them and cached.

Usage:

    from dray.wire import decode_request, encode_response, peek, APIS
    from dray.wire.apis.metadata import METADATA, MetadataRequest, MetadataResponse

    api_key, version, correlation_id = peek(frame)       # cheap, for dispatch; `frame` is without its length
    header, body = decode_request(frame)                  # RequestHeader, and here a MetadataRequest
    response = MetadataResponse(brokers=[...], topics=[...])
    buffers = encode_response(METADATA, version, correlation_id, response)
    transport.writelines(buffers)                         # the length is in the first buffer

- Fields that a version lacks have their default value after decoding. Encoding a response omits them.
  Encoding anything else (`encode_request`, `encode_body`) omits them only if Kafka calls them ignorable;
  otherwise a value other than the default is an `EncodeError`.
- `records` of a Produce request is a memoryview into the frame. `records` of a Fetch response is a list of
  buffers, which `encode_response` returns without copying.
- UUIDs are 16 bytes; error codes are plain ints (`ErrorCode` is an IntEnum).
- Malformed bytes raise `WireError`, nothing else. Unknown tagged fields are skipped.
"""

from dray.wire.api import Api, Message
from dray.wire.codec import (
    decode_body,
    decode_peeked_request,
    decode_request,
    decode_response,
    encode_body,
    encode_request,
    encode_response,
)
from dray.wire.error_code import ErrorCode
from dray.wire.errors import (
    BadLength,
    DecodeError,
    EncodeError,
    Truncated,
    UnexpectedNull,
    UnknownApi,
    UnknownVersion,
    WireError,
)
from dray.wire.headers import LENGTH_BYTES, RequestHeader, peek
from dray.wire.kinds import ZERO_UUID
from dray.wire.registry import APIS, api_of

__all__ = [
    "APIS",
    "LENGTH_BYTES",
    "ZERO_UUID",
    "Api",
    "BadLength",
    "DecodeError",
    "EncodeError",
    "ErrorCode",
    "Message",
    "RequestHeader",
    "Truncated",
    "UnexpectedNull",
    "UnknownApi",
    "UnknownVersion",
    "WireError",
    "api_of",
    "decode_body",
    "decode_peeked_request",
    "decode_request",
    "decode_response",
    "encode_body",
    "encode_request",
    "encode_response",
    "peek",
]
