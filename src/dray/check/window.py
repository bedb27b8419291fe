"""Windows over the records of objects: as many as fit in memory, compared with the bucket and the index.

A window holds the WAL objects and files of one domain whose ids lie between two bounds: their records, their
markers, what the bucket has of them, and how many index entries point to them. Windows do not overlap, and
together they cover all ids.

The families of keys are read in the order in which a record moves through them. So an object that changes
meanwhile may be seen twice, but not missed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from dray.check.findings import Finding, ObjectKind
from dray.check.other_findings import Undecodable
from dray.ids import FileId, MetaDomain, TopicRef, WalId
from dray.index import (
    CorruptValue,
    FileGcMarker,
    GcMarker,
    ParquetFile,
    StagingMarker,
    WalObject,
    decode_file,
    decode_file_gc,
    decode_gc,
    decode_object,
    decode_staging,
)
from dray.keyspace import (
    file_gc_key,
    file_gc_range,
    file_key,
    file_range,
    log_domain,
    staging_key,
    staging_range,
    wal_gc_key,
    wal_gc_range,
    wal_object_key,
    wal_object_range,
)
from dray.meta.port import Check, Entry, MetaStore, Version

T = TypeVar("T")
Record = WalObject | ParquetFile
Marker = StagingMarker | GcMarker | FileGcMarker
_PAGE: Final = 1_000


@dataclass(slots=True)
class Known:
    """The record, markers, size and references of one object, as far as they were read."""

    kind: ObjectKind
    object_id: bytes
    path: str = ""
    record: Record | None = None
    recorded: Version | None = None
    """Version of the record's key, also if its value cannot be decoded."""
    markers: list[tuple[Check, Marker | None]] = field(default_factory=list)
    """Keys of markers to delete or examine it; None for a marker that cannot be decoded."""
    stored_bytes: int | None = None
    """Its size in the bucket; None if it was not seen there."""
    damage: str | None = None
    """What is wrong with its bytes; None if they were not verified."""
    references: int = 0
    """Index entries that point to it, as far as they have been counted."""
    first_entry: tuple[int, int, int] = (0, 0, 0)
    """Stream, start and end of the first of them."""
    checks: list[Check] = field(default_factory=list)
    """Keys of these entries, if the object is unprotected."""

    @property
    def is_unprotected(self) -> bool:
        """Whether an entry that points to it can lose it: it has no record, or a marker as well."""
        return self.recorded is None or bool(self.markers)

    @property
    def topic(self) -> TopicRef | None:
        return self.record.topic if isinstance(self.record, ParquetFile) else None


@dataclass(frozen=True, slots=True)
class Family:
    """Keys of one kind of record or marker."""

    bounds: tuple[str, str]
    key_of: Callable[[bytes], str]
    decode: Callable[[str, bytes], Record | Marker]

    @property
    def is_of_records(self) -> bool:
        return self.decode in (decode_object, decode_file)


def families_of(domain: MetaDomain, kind: ObjectKind) -> Sequence[Family]:
    """Return the families of a kind of object, in the order of an object's life."""
    if kind is ObjectKind.FILE:
        return (
            Family(file_range(domain), lambda each: file_key(domain, FileId(each)), decode_file),
            Family(file_gc_range(domain), lambda each: file_gc_key(domain, FileId(each)), decode_file_gc),
        )
    return (
        Family(staging_range(domain), lambda each: staging_key(domain, WalId(each)), decode_staging),
        Family(wal_object_range(domain), lambda each: wal_object_key(domain, WalId(each)), decode_object),
        Family(wal_gc_range(domain), lambda each: wal_gc_key(domain, WalId(each)), decode_gc),
    )


@dataclass(slots=True)
class Window:
    """The objects of one kind in one domain with ids after `after`, up to and including `last`."""

    domain: MetaDomain
    kind: ObjectKind
    after: bytes | None = None
    last: bytes | None = None
    """None if there are no later ids: the window is open."""
    objects: dict[bytes, Known] = field(default_factory=dict)
    strays: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    """Id and size of old objects that no key names, by path. An entry may still point to one."""
    undecodable: list[Finding] = field(default_factory=list)

    def covers(self, object_id: bytes) -> bool:
        return (self.after is None or object_id > self.after) and (
            self.last is None or object_id <= self.last
        )

    def take(self, family: Family, stored: Entry) -> None:
        """Add a record or marker to what is known of its object."""
        object_id = bytes.fromhex(stored.key.rpartition("/")[2])
        known = self.objects.setdefault(object_id, Known(self.kind, object_id))
        value: Record | Marker | None = None
        try:
            value = family.decode(stored.key, stored.value)
            known.path = value.path
        except CorruptValue as error:
            check = Check(stored.key, stored.version)
            self.undecodable.append(
                Undecodable(
                    domain=log_domain(self.domain), checks=(check,), key=stored.key, reason=str(error)
                )
            )
        if family.is_of_records:
            known.recorded = stored.version
            known.record = value if isinstance(value, Record) else None
        else:
            marker = value if isinstance(value, Marker) else None
            known.markers.append((Check(stored.key, stored.version), marker))


async def next_window(
    meta: MetaStore, domain: MetaDomain, kind: ObjectKind, after: bytes | None, limit: int
) -> Window:
    """Read the next records and markers, about `limit` of each family."""
    window = Window(domain, kind, after)
    read: list[tuple[Family, list[Entry]]] = []
    for family in families_of(domain, kind):
        page = await _page(meta, domain, family, after, limit)
        if len(page) >= limit:
            last = bytes.fromhex(page[-1].key.rpartition("/")[2])
            window.last = last if window.last is None else min(window.last, last)
        read.append((family, page))
    for family, page in read:
        for stored in page:
            if window.covers(bytes.fromhex(stored.key.rpartition("/")[2])):
                window.take(family, stored)
    return window


async def look_up(meta: MetaStore, domain: MetaDomain, kind: ObjectKind, object_id: bytes) -> Known:
    """Read what the keys say of one object."""
    window = Window(domain, kind)
    for family in families_of(domain, kind):
        stored = await meta.get(log_domain(domain), family.key_of(object_id))
        if stored is not None:
            window.take(family, stored)
    return window.objects.get(object_id) or Known(kind, object_id)


async def _page(
    meta: MetaStore, domain: MetaDomain, family: Family, after: bytes | None, limit: int
) -> list[Entry]:
    start, end = family.bounds
    if after is not None:
        start = f"{family.key_of(after)}\0"
    found: list[Entry] = []
    while len(found) < limit:
        page = await meta.scan(log_domain(domain), start, end, limit=min(_PAGE, limit - len(found)))
        found += page
        if len(page) < _PAGE:
            break
        start = f"{page[-1].key}\0"
    return found
