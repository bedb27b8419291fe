"""What consumers of the classic protocol say to each other inside JoinGroup and SyncGroup.

    subscription   version i16 | topics | user data | owned partitions (1+) | generation i32 (2+) | rack (3+)
    assignment     version i16 | partitions | user data

Strings are an i16 length and UTF-8, arrays an i32 count, bytes an i32 length (-1: null); nothing is flexible.
A group passes these bytes on as they are. Only where a group changes over to the consumer protocol or back
does the broker read and write them. They are whatever a client made up, so reading them either gives a value
or raises `Malformed`. Versions above 3 are read as 3, and bytes behind the last known field are let be, so
that newer clients are understood.
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
    """These bytes are not of the consumers' protocol."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a member wants."""

    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned: NamedPartitions | None = None
    """None if the version does not say."""
    generation: int = -1
    rack_id: str | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a member gets."""

    partitions: NamedPartitions
    user_data: bytes | None = None


def version_of(data: bytes) -> int:
    """The version of either; raises `Malformed`."""
    version = _Reader(data).i16()
    if version < 0:
        raise Malformed(f"there is no version {version}")
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


def encode_subscription(subscription: Subscription, version: int) -> bytes:
    parts = [_I16.pack(version), _I32.pack(len(subscription.topics)), *map(_string, subscription.topics)]
    parts.append(_nullable_bytes(subscription.user_data))
    if version >= 1:
        parts.append(_partitions(subscription.owned or {}))
    if version >= 2:
        parts.append(_I32.pack(subscription.generation))
    if version >= 3:
        parts.append(_I16.pack(_NULL) if subscription.rack_id is None else _string(subscription.rack_id))
    return b"".join(parts)


def encode_assignment(assignment: Assignment, version: int) -> bytes:
    return b"".join(
        (_I16.pack(version), _partitions(assignment.partitions), _nullable_bytes(assignment.user_data))
    )


class _Reader:
    """Reads from one place to the next; whatever does not fit raises `Malformed`."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data = data
        self._at = at

    def i16(self) -> int:
        return int.from_bytes(self._take(_I16.size), signed=True)

    def i32(self) -> int:
        return int.from_bytes(self._take(_I32.size), signed=True)

    def count(self, item_bytes_min: int) -> int:
        """The number of items that follow, each of at least so many bytes: a huge count is not believed."""
        count = self.i32()
        if count < 0 or count * item_bytes_min > len(self._data) - self._at:
            raise Malformed(f"there cannot be {count} items")
        return count

    def string(self) -> str:
        text = self.nullable_string()
        if text is None:
            raise Malformed("a string is missing")
        return text

    def nullable_string(self) -> str | None:
        length = self.i16()
        return None if length == _NULL else self._take(length).decode(errors="replace")

    def nullable_bytes(self) -> bytes | None:
        length = self.i32()
        return None if length == _NULL else self._take(length)

    def partitions(self) -> NamedPartitions:
        """A topic that is named twice has the partitions of both."""
        found: dict[str, set[int]] = {}
        for _ in range(self.count(_I16.size + _I32.size)):
            numbers = found.setdefault(self.string(), set())
            numbers.update(self.i32() for _ in range(self.count(_I32.size)))
        return {topic: tuple(sorted(numbers)) for topic, numbers in found.items()}

    def _take(self, size: int) -> bytes:
        end = self._at + size
        if size < 0 or end > len(self._data):
            raise Malformed(f"{size} bytes were expected at {self._at}, of {len(self._data)} in all")
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
