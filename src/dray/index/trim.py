"""Giving up the beginning of a stream: which references its removed entries leave behind."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from dray.ids import WalId
from dray.index.entry import WalEntry
from dray.index.objects import GcMarker, WalObject


@dataclass(frozen=True, slots=True)
class Released:
    """What becomes of one WAL object: fewer references, or none and a time to be deleted."""

    wal_id: WalId
    after: WalObject | GcMarker


def references_of(entries: Iterable[WalEntry]) -> Counter[WalId]:
    return Counter(entry.wal_id for entry in entries)


def release(
    gone: Mapping[WalId, int], objects: Mapping[WalId, WalObject], delete_after_ms: int
) -> list[Released]:
    """Take the references of removed entries off their objects."""
    return [
        Released(wal_id, _released(objects[wal_id], count, delete_after_ms)) for wal_id, count in gone.items()
    ]


def _released(wal_object: WalObject, count: int, delete_after_ms: int) -> WalObject | GcMarker:
    left = wal_object.references - count
    if left > 0:
        return msgspec.structs.replace(wal_object, references=left)
    return GcMarker(path=wal_object.path, delete_after_ms=delete_after_ms)
