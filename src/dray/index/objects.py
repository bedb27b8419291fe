"""Records of WAL objects in the metadata store, from before they are written until after their deletion.

    staging ──commit──▶ committed ──last reference released──▶ pending deletion ──grace period over──▶ deleted
       └──older than the orphan TTL──▶ condemned ──object deleted──▶ deleted

The staging marker is written *before* the object, and the commit checks its version. So an object without a
marker, or with a condemned one, can never become visible: deleting it is free of races.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from dray.ids import MetaDomain, WalId
from dray.index.entry import WalEntry
from dray.index.stored import decoded, of_kind


class StagingMarker(msgspec.Struct, frozen=True, array_like=True, tag="s1"):
    """A WAL object that may be in flight and is not committed."""

    path: str
    created_at_ms: int
    condemned: bool = False


class WalObject(msgspec.Struct, frozen=True, array_like=True, tag="o1"):
    """A committed WAL object, with the number of index entries that reference it."""

    path: str
    references: int
    created_at_ms: int
    size_bytes: int


class GcMarker(msgspec.Struct, frozen=True, array_like=True, tag="g1"):
    """A WAL object without references, pending deletion."""

    path: str
    delete_after_ms: int


_Value = StagingMarker | WalObject | GcMarker
_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[_Value] = msgspec.msgpack.Decoder(_Value)


def encode_object(value: _Value) -> bytes:
    return _encoder.encode(value)


def decode_staging(key: str, value: bytes) -> StagingMarker:
    return of_kind(StagingMarker, _decode(key, value), key, "a staging marker")


def decode_object(key: str, value: bytes) -> WalObject:
    return of_kind(WalObject, _decode(key, value), key, "a WAL object record")


def decode_gc(key: str, value: bytes) -> GcMarker:
    return of_kind(GcMarker, _decode(key, value), key, "a deletion marker")


def _decode(key: str, value: bytes) -> _Value:
    return decoded(_decoder, key, value, "a WAL object record")


WAL_PREFIX = "wal/v1/"


def wal_path(zone: str, domain: MetaDomain, date: str, wal: WalId) -> str:
    """Return the object's path; `date` is YYYY/MM/DD. Zone and date are only informative."""
    return f"{WAL_PREFIX}zone={zone}/domain={domain}/date={date}/{wal.hex()}.wo"


def parse_wal_path(path: str) -> tuple[MetaDomain, WalId] | None:
    """Return the meta domain and id of the WAL object at a path, or None for any other path."""
    parts = path.split("/")
    if len(parts) != 8 or parts[:2] != ["wal", "v1"] or not path.endswith(".wo"):
        return None
    try:
        domain = MetaDomain(int(parts[3].removeprefix("domain=")))
        return domain, WalId(bytes.fromhex(parts[7].removesuffix(".wo")))
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Released:
    """New record of a WAL object: with fewer references, or a deletion marker if none are left."""

    wal_id: WalId
    after: WalObject | GcMarker


def references_of(entries: Iterable[WalEntry]) -> Counter[WalId]:
    return Counter(entry.wal_id for entry in entries)


def release(
    released: Mapping[WalId, int], objects: Mapping[WalId, WalObject], delete_after_ms: int
) -> list[Released]:
    """Subtract the references of removed entries from their objects."""
    return [
        Released(wal_id, _released(objects[wal_id], count, delete_after_ms))
        for wal_id, count in released.items()
    ]


def _released(wal_object: WalObject, count: int, delete_after_ms: int) -> WalObject | GcMarker:
    left = wal_object.references - count
    if left > 0:
        return msgspec.structs.replace(wal_object, references=left)
    return GcMarker(path=wal_object.path, delete_after_ms=delete_after_ms)
