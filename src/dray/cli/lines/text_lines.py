r"""Plain-text lines: the input of `dray produce` and the output of `dray consume`.

A line to send is a record's value; with a separator its key and value; with a token its nulls. A record to
print follows a pattern:

    %p  partition        %k  key             %K  bytes of the key
    %o  offset           %v  value           %V  bytes of the value
    %t  time, ISO 8601   %h  headers         %%  a percent sign
    %T  time in ms       k=v, with commas    \n \t \r \0 \\ \xHH

Nothing is appended, so a pattern for lines ends with \n. A null key or value prints as the null token and has
-1 bytes.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dray.cli.render.formats import iso
from dray.client import ConsumerRecord, ProducerRecord

Headers = tuple[tuple[str, bytes | None], ...]
Format = Callable[[ConsumerRecord], bytes]
_PLACEHOLDER: Final = re.compile(r"%(.?)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(x[0-9A-Fa-f]{2}|.?)", re.DOTALL)
_ESCAPED: Final = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}


class InvalidLine(Exception):
    """A line that is not a record; the message names it and says why."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(f"line {line}: {why}")


@dataclass(frozen=True, slots=True)
class TextLines:
    """How plain lines are read."""

    key_separator: bytes | None = None
    null_token: bytes | None = None
    headers: Headers = ()

    def read(self, number: int, line: bytes) -> ProducerRecord:
        """Return the record of a line, which comes without its end."""
        key, value, null = None, line, self.null_token
        if self.key_separator is not None:
            key, found, value = line.partition(self.key_separator)
            if not found:
                separator = self.key_separator.decode(errors="backslashreplace")
                raise InvalidLine(number, f"it has no key separator {separator!r}")
        return ProducerRecord(
            number, None if key == null else key, None if value == null else value, self.headers
        )


def parse_pattern(text: str, null_token: bytes = b"") -> Format:
    """Return what formats records by a pattern; `ValueError` says what is wrong with it."""
    placeholders = _placeholders(null_token)
    pieces: list[bytes | Format] = []
    done = 0
    for found in _PLACEHOLDER.finditer(text):
        if found.group(1) not in placeholders:
            raise ValueError(
                f"{found.group()!r} is not a placeholder; use {', '.join(f'%{one}' for one in placeholders)}"
            )
        pieces.append(unescape(text[done : found.start()]))
        pieces.append(placeholders[found.group(1)])
        done = found.end()
    pieces.append(unescape(text[done:]))
    return _joined(pieces)


def unescape(text: str) -> bytes:
    r"""Return the bytes of a text with \n, \t, \r, \0, \\ and \xHH; `ValueError` for other escapes."""
    out = bytearray()
    done = 0
    for found in _ESCAPE.finditer(text):
        out += text[done : found.start()].encode()
        out += _unescaped(found.group(1))
        done = found.end()
    return bytes(out + text[done:].encode())


def _unescaped(escape: str) -> bytes:
    if len(escape) == 3:
        return bytes.fromhex(escape[1:])
    if escape not in _ESCAPED:
        raise ValueError(rf"\{escape} is not an escape; use \n, \t, \r, \0, \\ or \xHH")
    return _ESCAPED[escape]


def _joined(pieces: list[bytes | Format]) -> Format:
    def format_record(record: ConsumerRecord) -> bytes:
        return b"".join(one if isinstance(one, bytes) else one(record) for one in pieces)

    return format_record


def _placeholders(null_token: bytes) -> dict[str, bytes | Format]:
    def plain(data: bytes | None) -> bytes:
        return null_token if data is None else data

    def headers(record: ConsumerRecord) -> bytes:
        return b",".join(key.encode() + b"=" + plain(value) for key, value in record.headers)

    return {
        "p": lambda record: b"%d" % record.partition,
        "o": lambda record: b"%d" % record.offset,
        "t": lambda record: iso(record.timestamp_ms).encode(),
        "T": lambda record: b"%d" % record.timestamp_ms,
        "k": lambda record: plain(record.key),
        "v": lambda record: plain(record.value),
        "h": headers,
        "K": lambda record: _length(record.key),
        "V": lambda record: _length(record.value),
        "%": b"%",
    }


def _length(data: bytes | None) -> bytes:
    return b"-1" if data is None else b"%d" % len(data)
