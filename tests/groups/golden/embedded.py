"""Codec of the embedded consumer protocol: the bytes that classic consumers put into joins and syncs.

Brokers hardly decode them; transcripts do, to show them. The layout is Kafka's ConsumerProtocolSubscription
and ConsumerProtocolAssignment: a version, then the fields of all versions up to it, in the non-flexible
encoding (2-byte string lengths, 4-byte lengths of arrays and bytes).
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

HIGHEST: Final = 3
Parts = Mapping[str, Sequence[int]]


class NotEmbedded(ValueError):
    """The bytes are not of the embedded consumer protocol."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription; from version 1 on with owned partitions."""

    topics: tuple[str, ...]
    version: int = 1
    user_data: bytes | None = None
    owned: Parts = field(default_factory=dict)
    generation: int = -1
    rack: str | None = None

    def encode(self) -> bytes:
        parts = [struct.pack(">hi", self.version, len(self.topics)), *map(_text, self.topics)]
        parts.append(_data(self.user_data))
        if self.version >= 1:
            parts.append(_partitions(self.owned))
        if self.version >= 2:
            parts.append(struct.pack(">i", self.generation))
        if self.version >= 3:
            parts.append(b"\xff\xff" if self.rack is None else _text(self.rack))
        return b"".join(parts)

    def __str__(self) -> str:
        fields = [f"v{self.version}", f"topics={_listed(self.topics)}"]
        if self.user_data:
            fields.append(f"user_data={self.user_data.hex()}")
        if self.owned:
            fields.append(f"owned={_shown(self.owned)}")
        if self.generation != -1:
            fields.append(f"generation={self.generation}")
        if self.rack is not None:
            fields.append(f"rack={self.rack}")
        return f"<subscription {' '.join(fields)}>"


@dataclass(frozen=True, slots=True)
class Assigned:
    """An assignment."""

    partitions: Parts
    version: int = 1
    user_data: bytes | None = None

    def encode(self) -> bytes:
        return struct.pack(">h", self.version) + _partitions(self.partitions) + _data(self.user_data)

    def __str__(self) -> str:
        data = f" user_data={self.user_data.hex()}" if self.user_data else ""
        return f"<assignment v{self.version} {_shown(self.partitions)}{data}>"


def read_subscription(data: bytes) -> Subscription:
    """Decode a subscription; raises `NotEmbedded`."""
    reader = _Reader(data)
    version = reader.version()
    topics = tuple(reader.text() or "" for _ in range(reader.count()))
    user_data = reader.data()
    owned = reader.partitions() if version >= 1 else {}
    generation = reader.number(">i") if version >= 2 else -1
    rack = reader.text() if version >= 3 else None
    reader.end()
    return Subscription(topics, version, user_data, owned, generation, rack)


def read_assignment(data: bytes) -> Assigned:
    """Decode an assignment; raises `NotEmbedded`."""
    reader = _Reader(data)
    version = reader.version()
    partitions, user_data = reader.partitions(), reader.data()
    reader.end()
    return Assigned(partitions, version, user_data)


class _Reader:
    """Sequential reader."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, layout: str) -> int:
        return int(struct.unpack(layout, self._take(struct.calcsize(layout)))[0])

    def version(self) -> int:
        version = self.number(">h")
        if not 0 <= version <= HIGHEST:
            raise NotEmbedded(f"version {version}")
        return version

    def count(self) -> int:
        count = self.number(">i")
        if not 0 <= count <= len(self._data):
            raise NotEmbedded(f"{count} items")
        return count

    def text(self) -> str | None:
        length = self.number(">h")
        try:
            return None if length < 0 else self._take(length).decode()
        except UnicodeDecodeError as error:
            raise NotEmbedded(str(error)) from error

    def data(self) -> bytes | None:
        length = self.number(">i")
        return None if length < 0 else self._take(length)

    def partitions(self) -> dict[str, list[int]]:
        return {
            self.text() or "": [self.number(">i") for _ in range(self.count())] for _ in range(self.count())
        }

    def end(self) -> None:
        if self._at != len(self._data):
            raise NotEmbedded("trailing bytes")

    def _take(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        if len(taken) < count:
            raise NotEmbedded("truncated")
        self._at += count
        return taken


def _text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">h", len(encoded)) + encoded


def _data(value: bytes | None) -> bytes:
    return struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value


def _partitions(parts: Parts) -> bytes:
    encoded = [struct.pack(">i", len(parts))]
    for topic, numbers in parts.items():
        encoded += [_text(topic), struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)]
    return b"".join(encoded)


def _listed(items: Sequence[object]) -> str:
    return f"[{', '.join(map(str, items))}]"


def _shown(parts: Parts) -> str:
    return f"{{{', '.join(f'{topic}: {_listed(sorted(parts[topic]))}' for topic in sorted(parts))}}}"
