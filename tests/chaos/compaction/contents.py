"""Record contents of every shape, each derived from the record's name, `producer/partition/number`.

A reader derives the content again and compares all of it, so a record that is corrupt or mixed with another
is recognized. Keys and values may be null or empty, also both; headers may be repeated, null and empty.
"""

import time
import zlib
from collections.abc import Sequence
from typing import NamedTuple

Headers = tuple[tuple[str, bytes | None], ...]

_NAME_HEADER = "name"
_LONG_EVERY, _LONG_BYTES, _SHORT_BYTES = 400, 20_000, 200
_BEGAN_MS = int(time.time() * 1000) - 600_000


class Content(NamedTuple):
    """A record without its offset."""

    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int


def content_of(name: str) -> Content:
    number = zlib.crc32(name.encode())
    marks, word = name.encode(), f"{number:08x}".encode()
    size = _LONG_BYTES if number % _LONG_EVERY == 0 else number % _SHORT_BYTES
    filler = (word * (size // len(word) + 1))[:size]
    headers: Headers = ()
    if number % 3 == 0:
        headers = (("twice", b"1"), ("between", b"\x00\xff"), ("twice", b""), ("größe", None))
    shapes: tuple[tuple[bytes | None, bytes | None, Headers], ...] = (
        (None, marks + b" " + filler, headers),
        (marks, None, headers),
        (marks, filler, headers),
        (None, None, ((_NAME_HEADER, marks), *headers)),
        (b"", marks + b" ", headers),
    )
    key, value, headers = shapes[number // 3 % len(shapes)]
    return Content(key, value, headers, _BEGAN_MS + int(name.rpartition("/")[2]))


def name_of(content: Content) -> str:
    """Return the record's name, or a text starting with "corrupt" if any of it differs from what was sent."""
    places = (content.key, (content.value or b"").split(b" ", 1)[0], dict(content.headers).get(_NAME_HEADER))
    for place in places:
        name = (place or b"").decode(errors="replace")
        if name.count("/") == 2 and name.rpartition("/")[2].isdecimal() and content_of(name) == content:
            return name
    return f"corrupt: {content!r}"[:200]


def content(
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[tuple[str, bytes | None]] | None,
    timestamp_ms: int,
) -> Content:
    return Content(key, value, tuple((name, one) for name, one in headers or ()), timestamp_ms)
