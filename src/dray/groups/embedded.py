"""Embedded consumer protocol: the bytes that classic consumers exchange inside JoinGroup and SyncGroup.

    subscription   version i16 | topics | user data | owned partitions (1+) | generation i32 (2+) | rack (3+)
    assignment     version i16 | partitions | user data

Strings are an i16 length and UTF-8, arrays an i32 count, bytes an i32 length (-1: null); no version is
flexible. A classic group passes these bytes on unread. The broker reads and writes them only where a group
changes to the consumer protocol or back. Clients may send anything, so decoding either returns a value or
raises `Malformed`. Versions above 3 are read as 3 and bytes after the last known field are ignored, so that
newer clients are understood.
"""

from dataclasses import dataclass
from struct import Struct
from typing import Final

NamedPartitions = dict[str, tuple[int, ...]]
"""Partitions by the topic's name."""
HIGHEST_VERSION: Final = 3

_I16: Final = Struct(">h")
_I32: Final = Struct(">i")
_NULL: Final = -1


class Malformed(Exception):
    """The bytes are not of the embedded consumer protocol."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """Subscription of a member."""

    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned: NamedPartitions | None = None
    """None if the version has no such field."""
    generation: int = -1
    rack_id: str | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """Assignment of a member."""

    partitions: NamedPartitions
    user_data: bytes | None = None


def version_of(data: bytes) -> int:
    """Return the version of a subscription or assignment; raises `Malformed`."""
    version = _Reader(data).i16()
    if version < 0:
        raise Malformed(f"invalid version {version}")
    return version


def decode_subscription(data: bytes) -> Subscription:
    """Raises `Malformed`."""
    version = version_of(data)
    reader = _Reader(data, _I16.size)
    return Subscription(
        topics=tuple(reader.string() for _ in range(reader.count(_I16.size))),
        user_data=reader.nullable_bytes(),
        owned=reader.partitions() if version >= 1 else None,
        generation=reader.i32() if version >= 2 else -1,
        rack_id=reader.nullable_string() if version >= 3 else None,
    )


def decode_assignment(data: bytes) -> Assignment:
    """Raises `Malformed`."""
    version_of(data)
    reader = _Reader(data, _I16.size)
    return Assignment(partitions=reader.partitions(), user_data=reader.nullable_bytes())


def encode_assignment(assignment: Assignment, version: int) -> bytes:
    return b"".join(
        (_I16.pack(version), _partitions(assignment.partitions), _nullable_bytes(assignment.user_data))
    )


class _Reader:
    """Sequential reader; raises `Malformed` for anything that does not fit."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data = data
        self._at = at

    def i16(self) -> int:
        return int.from_bytes(self._take(_I16.size), signed=True)

    def i32(self) -> int:
        return int.from_bytes(self._take(_I32.size), signed=True)

    def count(self, item_bytes_min: int) -> int:
        """Reads a count of items; rejects one that cannot fit, given the minimum size of an item."""
        count = self.i32()
        if count < 0 or count * item_bytes_min > len(self._data) - self._at:
            raise Malformed(f"invalid count {count}")
        return count

    def string(self) -> str:
        text = self.nullable_string()
        if text is None:
            raise Malformed("expected a string, found null")
        return text

    def nullable_string(self) -> str | None:
        length = self.i16()
        return None if length == _NULL else self._take(length).decode(errors="replace")

    def nullable_bytes(self) -> bytes | None:
        length = self.i32()
        return None if length == _NULL else self._take(length)

    def partitions(self) -> NamedPartitions:
        """Reads partitions by topic; a topic that occurs twice has the partitions of both."""
        found: dict[str, set[int]] = {}
        for _ in range(self.count(_I16.size + _I32.size)):
            numbers = found.setdefault(self.string(), set())
            numbers.update(self.i32() for _ in range(self.count(_I32.size)))
        return {topic: tuple(sorted(numbers)) for topic, numbers in found.items()}

    def _take(self, size: int) -> bytes:
        end = self._at + size
        if size < 0 or end > len(self._data):
            raise Malformed(f"expected {size} bytes at {self._at}, the data has {len(self._data)}")
        taken = self._data[self._at : end]
        self._at = end
        return taken


def _string(text: str) -> bytes:
    data = text.encode()
    return _I16.pack(len(data)) + data


def _nullable_bytes(data: bytes | None) -> bytes:
    return _I32.pack(_NULL) if data is None else _I32.pack(len(data)) + data


def _partitions(partitions: NamedPartitions) -> bytes:
    parts = [_I32.pack(len(partitions))]
    for topic, numbers in partitions.items():
        parts += (_string(topic), _I32.pack(len(numbers)), *map(_I32.pack, numbers))
    return b"".join(parts)
