"""The Kafka wire protocol: bytes to messages and back. Pure: no socket, no clock, no log.

Theory: one class for each message, with the fields of all versions; what differs between versions is known
only here. A class says in annotations which versions have which field (`dray.wire.apis`, generated from
kio's schemas). On first use of a version, two straight-line functions are made from that and kept.

How to call it:

    from dray.wire import decode_request, encode_response, peek, APIS
    from dray.wire.apis.metadata import METADATA, MetadataRequest, MetadataResponse

    api_key, version, correlation_id = peek(frame)       # cheap, for dispatch; `frame` is without its length
    header, body = decode_request(frame)                  # RequestHeader, and here a MetadataRequest
    response = MetadataResponse(brokers=[...], topics=[...])
    buffers = encode_response(METADATA, version, correlation_id, response)
    transport.writelines(buffers)                         # the length is in the first buffer

- Fields that a version lacks have their default when read. When a response is written, such a field is left
  out. When anything else is written (`encode_request`, `encode_body`), it is left out only if Kafka
  calls it ignorable; otherwise a value other than the default is an `EncodeError`.
- `records` of a Produce request is a memoryview into the frame. `records` of a Fetch response is a list of
  buffers, which come out of `encode_response` untouched.
- UUIDs are 16 bytes; error codes are plain ints (`ErrorCode` is an IntEnum).
- Bad bytes raise `WireError`, nothing else. Tagged fields that are not known are skipped.
"""

from dray.wire.api import Api
from dray.wire.codec import (
    decode_body,
    decode_request,
    decode_response,
    encode_body,
    encode_request,
    encode_response,
)
from dray.wire.errors import ErrorCode
from dray.wire.faults import (
    BadFrame,
    BadLength,
    DecodeError,
    EncodeError,
    Truncated,
    UnexpectedNull,
    UnknownApi,
    UnknownVersion,
    WireError,
)
from dray.wire.frames import FRAME_BYTES_MAX, LENGTH_BYTES, frame_length
from dray.wire.headers import RequestHeader, peek
from dray.wire.kinds import ZERO_UUID
from dray.wire.message import Message
from dray.wire.registry import APIS, api_of

__all__ = [
    "APIS",
    "FRAME_BYTES_MAX",
    "LENGTH_BYTES",
    "ZERO_UUID",
    "Api",
    "BadFrame",
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
    "decode_request",
    "decode_response",
    "encode_body",
    "encode_request",
    "encode_response",
    "frame_length",
    "peek",
]
