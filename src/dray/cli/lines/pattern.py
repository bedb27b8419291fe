r"""The pattern of `dray consume --format`: text with places for parts of a record.

    %p  partition        %k  key             %K  bytes of the key
    %o  offset           %v  value           %V  bytes of the value
    %t  time, ISO 8601   %h  headers         %%  a percent sign
    %T  time in ms       k=v, with commas    \n \t \r \0 \\ \xHH

Nothing is added, so a pattern for lines ends with \n. A key or value that is null shows as the token for
nulls, and has -1 bytes.
"""

import re
from collections.abc import Callable
from typing import Final

from dray.cli.instants import iso
from dray.cli.lines.escapes import unescaped
from dray.records import Record

Show = Callable[[int, Record], bytes]
_PLACE: Final = re.compile(r"%(.?)", re.DOTALL)


def pattern(text: str, null_token: bytes = b"") -> Show:
    """Return what shows records by this pattern; `ValueError` says what is wrong with it."""
    places = _places(null_token)
    pieces: list[bytes | Show] = []
    done = 0
    for found in _PLACE.finditer(text):
        if found.group(1) not in places:
            raise ValueError(
                f"{found.group()!r} is no place; there are {', '.join(f'%{one}' for one in places)}"
            )
        pieces.append(unescaped(text[done : found.start()]))
        pieces.append(places[found.group(1)])
        done = found.end()
    pieces.append(unescaped(text[done:]))
    return _joined(pieces)


def _joined(pieces: list[bytes | Show]) -> Show:
    def show(partition: int, record: Record) -> bytes:
        return b"".join(one if isinstance(one, bytes) else one(partition, record) for one in pieces)

    return show


def _places(null_token: bytes) -> dict[str, bytes | Show]:
    def plain(data: bytes | None) -> bytes:
        return null_token if data is None else data

    def headers(_: int, record: Record) -> bytes:
        return b",".join(key.encode() + b"=" + plain(value) for key, value in record.headers)

    return {
        "p": lambda partition, _: b"%d" % partition,
        "o": lambda _, record: b"%d" % record.offset,
        "t": lambda _, record: iso(record.timestamp).encode(),
        "T": lambda _, record: b"%d" % record.timestamp,
        "k": lambda _, record: plain(record.key),
        "v": lambda _, record: plain(record.value),
        "h": headers,
        "K": lambda _, record: _length(record.key),
        "V": lambda _, record: _length(record.value),
        "%": b"%",
    }


def _length(data: bytes | None) -> bytes:
    return b"-1" if data is None else b"%d" % len(data)
