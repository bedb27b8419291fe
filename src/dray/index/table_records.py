"""Records of work on tables that outlives a compactor: rebuilds, and folders of dropped tables."""

import msgspec

from dray.index.stored import decoded


class Rebuild(msgspec.Struct, frozen=True, array_like=True, tag="b1"):
    """A table that is being rebuilt; `number` is that of the next commit."""

    rebuild_id: str
    number: int = 0
    after_restore: bool = False
    """Whether the metadata was restored from a backup: files that the index does not know leave the table."""


class Dropped(msgspec.Struct, frozen=True, array_like=True, tag="d1"):
    """A dropped table, its folder, and when it was dropped: later files belong to another table."""

    topic: str
    folder: str
    dropped_at_ms: int


_encoder = msgspec.msgpack.Encoder()
_rebuilds = msgspec.msgpack.Decoder(Rebuild)
_dropped = msgspec.msgpack.Decoder(Dropped)


def encode_table_record(value: Rebuild | Dropped) -> bytes:
    return _encoder.encode(value)


def decode_rebuild(key: str, value: bytes) -> Rebuild:
    return decoded(_rebuilds, key, value, "a rebuild")


def decode_dropped(key: str, value: bytes) -> Dropped:
    return decoded(_dropped, key, value, "a dropped table")
