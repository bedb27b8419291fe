"""What the metadata store knows of WAL objects, from before they are written until after they are deleted.

    staging ──commit──▶ committed ──last reference gone──▶ to be deleted ──grace over──▶ nothing
       └──older than the orphan time──▶ condemned ──object deleted──▶ nothing

The staging marker is written *before* the object, and the commit checks its version. So an object without any
marker can never become visible, and one whose marker was condemned cannot either: both may be deleted
without a race.
"""

import msgspec

from dray.ids import MetaDomain, WalId
from dray.index.stored import decoded, of_kind


class StagingMarker(msgspec.Struct, frozen=True, array_like=True, tag="s1"):
    """A WAL object that somebody may be writing and has not committed."""

    path: str
    created_at_ms: int
    condemned: bool = False


class WalObject(msgspec.Struct, frozen=True, array_like=True, tag="o1"):
    """A committed WAL object and how many index entries point into it."""

    path: str
    references: int
    created_at_ms: int
    size_bytes: int


class GcMarker(msgspec.Struct, frozen=True, array_like=True, tag="g1"):
    """A WAL object that nothing points into any more."""

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
    return decoded(_decoder, key, value, "anything about a WAL object")


WAL_PREFIX = "wal/v1/"


def wal_path(zone: str, domain: MetaDomain, date: str, wal: WalId) -> str:
    """Return the object's path; `date` is YYYY/MM/DD. Zone and date are for people to read."""
    return f"{WAL_PREFIX}zone={zone}/domain={domain}/date={date}/{wal.hex()}.wo"


def parse_wal_path(path: str) -> tuple[MetaDomain, WalId] | None:
    """Return which object a path belongs to, or None when it is not a WAL object's."""
    parts = path.split("/")
    if len(parts) != 8 or parts[:2] != ["wal", "v1"] or not path.endswith(".wo"):
        return None
    try:
        domain = MetaDomain(int(parts[3].removeprefix("domain=")))
        return domain, WalId(bytes.fromhex(parts[7].removesuffix(".wo")))
    except ValueError:
        return None
