"""JSON lines: what `dray produce --json` reads and `dray consume --json` prints.

    {"partition": 0, "offset": 7, "timestamp": 1700000000, "key": "k", "value": "v", "headers": [["h", "x"]]}

Bytes that are not UTF-8 are base64 in `key_base64` and `value_base64`, and {"base64": "…"} as the value of a
header. `dray produce --json` sends what `dray consume --json` printed unchanged; it ignores topic and offset.
For lines written by hand: headers may be an object, and a key or value that is neither text nor null is sent
as the JSON that it is, verbatim.
"""

import base64
import binascii
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from dray.cli.lines.text_lines import Headers, InvalidLine
from dray.client import ConsumerRecord, ProducerRecord

_Headers = dict[str, msgspec.Raw] | list[tuple[str, msgspec.Raw]]


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of a line."""

    topic: str | UnsetType = UNSET
    partition: int | None = None
    offset: int | UnsetType = UNSET
    timestamp: int | None = None
    key: msgspec.Raw | UnsetType = UNSET
    key_base64: str | UnsetType = UNSET
    value: msgspec.Raw | UnsetType = UNSET
    value_base64: str | UnsetType = UNSET
    headers: _Headers | None = None


class _Base64(msgspec.Struct, forbid_unknown_fields=True):
    """Bytes inside a header."""

    base64: str


_NO_TIMESTAMP: Final = -1
_TIMESTAMP_MAX: Final = 2**63 - 1
_lines: Final = msgspec.json.Decoder(_Line)
_texts: Final = msgspec.json.Decoder(str)
_binaries: Final = msgspec.json.Decoder(_Base64)
_encoder: Final = msgspec.json.Encoder()


def read_json(number: int, line: bytes, headers: Headers = ()) -> ProducerRecord | None:
    """Return the record of a line, or None for a blank one; `headers` follow the line's own."""
    if not line.strip():
        return None
    try:
        return _record(number, _lines.decode(line), headers)
    except (msgspec.MsgspecError, ValueError) as error:
        raise InvalidLine(number, str(error)) from error


def format_json(record: ConsumerRecord) -> bytes:
    """Return a line, including its end."""
    fields: dict[str, object] = {
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        **_field("key", record.key),
        **_field("value", record.value),
        "headers": [[key, _header_field(value)] for key, value in record.headers],
    }
    return _encoder.encode(fields) + b"\n"


def _record(number: int, line: _Line, headers: Headers) -> ProducerRecord:
    if line.value is UNSET and line.value_base64 is UNSET:
        raise ValueError('neither "value" nor "value_base64" is given; for a null value use "value": null')
    return ProducerRecord(
        line=number,
        key=_bytes("key", line.key, line.key_base64),
        value=_bytes("value", line.value, line.value_base64),
        headers=_headers(line.headers) + headers,
        timestamp_ms=_timestamp(line.timestamp),
        partition=line.partition,
    )


def _timestamp(given: int | None) -> int | None:
    if given is not None and not _NO_TIMESTAMP <= given <= _TIMESTAMP_MAX:
        bounds = f"0 to {_TIMESTAMP_MAX}, or {_NO_TIMESTAMP} for none"
        raise ValueError(f'"timestamp" is in milliseconds since 1970, from {bounds}; it is {given}')
    return given


def _bytes(name: str, plain: msgspec.Raw | UnsetType, encoded: str | UnsetType) -> bytes | None:
    if encoded is UNSET:
        return None if plain is UNSET else _plain(plain)
    if plain is not UNSET:
        raise ValueError(f'"{name}" and "{name}_base64" cannot both be given')
    return _decoded(f'"{name}_base64"', encoded)


def _plain(raw: msgspec.Raw) -> bytes | None:
    text = bytes(raw)
    if text == b"null":
        return None
    return _texts.decode(text).encode() if text.startswith(b'"') else text


def _headers(given: _Headers | None) -> Headers:
    pairs = given.items() if isinstance(given, dict) else given or ()
    return tuple((key, _header(key, raw)) for key, raw in pairs)


def _header(key: str, raw: msgspec.Raw) -> bytes | None:
    if bytes(raw).startswith(b"{"):
        return _decoded(f'header "{key}"', _binaries.decode(raw).base64)
    return _plain(raw)


def _decoded(what: str, encoded: str) -> bytes:
    try:
        return base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise ValueError(f"{what} is not base64: {error}") from error


def _field(name: str, data: bytes | None) -> dict[str, str | None]:
    text = _text(data)
    if data is None or text is not None:
        return {name: text}
    return {f"{name}_base64": base64.b64encode(data).decode()}


def _header_field(data: bytes | None) -> object:
    text = _text(data)
    if data is None or text is not None:
        return text
    return {"base64": base64.b64encode(data).decode()}


def _text(data: bytes | None) -> str | None:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return None
