"""Groups and committed offsets as bytes.

A group is one value under one key; its tag ("g1", "c1") says which protocol it is of and which form the rest
has. Offsets are no part of it: each has a key of its own, so that a commit touches neither the group nor the
other partitions.
"""

from typing import Final

import msgspec

from dray.groups.group import Doomed, Group


class CorruptGroup(Exception):
    """The stored bytes are not what they should be."""


class CommittedOffset(msgspec.Struct, frozen=True, array_like=True, tag="o1"):
    """How far a group has come in one partition."""

    offset: int
    leader_epoch: int
    """That of the record before; -1 if the client did not say."""
    metadata: str
    committed_at_ms: int
    expires_at_ms: int | None
    """If the client asked for it; else it expires with the group."""
    topic_id: bytes
    """Of the topic it was committed for; one of the same name that was made later is another."""


_encoder: Final = msgspec.msgpack.Encoder()
_groups: Final[msgspec.msgpack.Decoder[Group | Doomed]] = msgspec.msgpack.Decoder(Group | Doomed)
_offsets: Final = msgspec.msgpack.Decoder(CommittedOffset)


def encode_group(group: Group | Doomed) -> bytes:
    return _encoder.encode(group)


def decode_group(value: bytes) -> Group | Doomed:
    """Raises `CorruptGroup`."""
    try:
        return _groups.decode(value)
    except msgspec.DecodeError as error:
        raise CorruptGroup(f"this is no group: {error}") from error


def encode_offset(offset: CommittedOffset) -> bytes:
    return _encoder.encode(offset)


def decode_offset(value: bytes) -> CommittedOffset:
    """Raises `CorruptGroup`."""
    try:
        return _offsets.decode(value)
    except msgspec.DecodeError as error:
        raise CorruptGroup(f"this is no committed offset: {error}") from error
