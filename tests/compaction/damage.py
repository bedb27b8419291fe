"""Reversible damage to objects in a rig's bucket."""

from collections.abc import Callable
from typing import Final

from dray.index import WalEntry
from dray.records import BatchRules, Codec, Record, ValidBatch, encode_batch, validate
from dray.records.primitives import crc32c
from tests.log.builders import Rig

Damage = Callable[[Rig, WalEntry], bytes]
"""Damages an entry's object and returns its original bytes."""


def lose(rig: Rig, entry: WalEntry) -> bytes:
    whole = bytes(rig.bucket.get(entry.path))
    rig.bucket.delete(entry.path)
    return whole


def truncate(rig: Rig, entry: WalEntry) -> bytes:
    end = entry.chunk_offset + entry.chunk_length - 1
    return _replace(rig, entry, lambda whole: whole[:end])


def flip(rig: Rig, entry: WalEntry) -> bytes:
    """Change the last byte of the entry's last batch."""
    at = entry.chunk_offset + entry.chunk_length - 1
    return _replace(rig, entry, lambda whole: whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])


def exchange(rig: Rig, entry: WalEntry) -> bytes:
    """Put the first other object of the same size in its place, intact and with the same layout."""
    others = [info for info in rig.bucket.page("wal/", "", 1_000) if info.path != entry.path]
    whole = bytes(rig.bucket.get(entry.path))
    other = next(info.path for info in others if info.size_bytes == len(whole))
    return _replace(rig, entry, lambda _: bytes(rig.bucket.get(other)))


DAMAGES: Final[tuple[Damage, ...]] = (lose, truncate, flip, exchange)


def restore(rig: Rig, entry: WalEntry, whole: bytes) -> None:
    rig.bucket.delete(entry.path)
    rig.bucket.put_new(entry.path, [whole])


def _replace(rig: Rig, entry: WalEntry, change: Callable[[bytes], bytes]) -> bytes:
    whole = lose(rig, entry)
    rig.bucket.put_new(entry.path, [change(whole)])
    return whole


def unreadable(now_ms: int, count: int = 2) -> ValidBatch:
    """Return a batch with a valid header and a payload that no client can decompress."""
    records = [Record(number, now_ms, None, b"x") for number in range(count)]
    batch = bytearray(encode_batch(records, codec=Codec.GZIP))
    batch[70:] = bytes(len(batch) - 70)
    batch[17:21] = crc32c(bytes(batch[21:])).to_bytes(4, "big")
    return validate(memoryview(bytes(batch)), BatchRules(), now_ms)
