"""Stored values of groups: the group itself, its tombstone, and committed offsets.

A group is one value under one key; its tag ("g1", "c1", "d1") says which type it is and which version the
encoding has. Each committed offset has a key of its own, so that a commit touches neither the group nor
other partitions.
"""

from typing import Final, TypeAlias

import msgspec

from dray.groups.classic.state import ClassicGroup
from dray.groups.consumer.state import ConsumerGroup
from dray.groups.types import CommittedOffset

Group: TypeAlias = ClassicGroup | ConsumerGroup
"""A group of either protocol. A group that does not exist has no value."""


class Tombstone(msgspec.Struct, frozen=True, array_like=True, tag="d1"):
    """Replaces a deleted group until its offsets are removed; then the tombstone is removed too."""


class CorruptGroup(Exception):
    """The stored bytes cannot be decoded."""


_encoder: Final = msgspec.msgpack.Encoder()
_groups: Final[msgspec.msgpack.Decoder[Group | Tombstone]] = msgspec.msgpack.Decoder(Group | Tombstone)
_offsets: Final = msgspec.msgpack.Decoder(CommittedOffset)


def encode_group(group: Group | Tombstone) -> bytes:
    return _encoder.encode(group)


def decode_group(value: bytes) -> Group | Tombstone:
    """Raises `CorruptGroup`."""
    try:
        return _groups.decode(value)
    except msgspec.DecodeError as error:
        raise CorruptGroup(f"not a group: {error}") from error


def encode_offset(offset: CommittedOffset) -> bytes:
    return _encoder.encode(offset)


def decode_offset(value: bytes) -> CommittedOffset:
    """Raises `CorruptGroup`."""
    try:
        return _offsets.decode(value)
    except msgspec.DecodeError as error:
        raise CorruptGroup(f"not a committed offset: {error}") from error
