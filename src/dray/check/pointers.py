"""Pointers of index entries: each must lead to an object that exists, is long enough and is protected.

What the window does not hold is looked up one by one: objects that were committed after it was read, and all
of them if only some topics are checked.
"""

from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import Final, TypedDict

from dray.check.bucket import Bucket, Windows
from dray.check.chain import EntryAt
from dray.check.deep import Verifier
from dray.check.deps import CheckDeps
from dray.check.findings import Finding, ObjectKind
from dray.check.object_findings import DamagedObject, MissingObject, ShortObject
from dray.check.window import Known, look_up
from dray.ids import Domain, MetaDomain, StreamId
from dray.index import IndexEntry, WalEntry
from dray.keyspace import log_domain
from dray.meta.port import Check

_LOOKED_UP_MAX: Final = 10_000
_CHECKS_MAX: Final = 2_000
"""Entries that are remembered per unprotected object."""


def kind_of(entry: IndexEntry) -> ObjectKind:
    return ObjectKind.WAL if isinstance(entry, WalEntry) else ObjectKind.FILE


def id_of(entry: IndexEntry) -> bytes:
    return entry.wal_id if isinstance(entry, WalEntry) else entry.file_id


class _Pointer(TypedDict):
    domain: Domain
    stream: StreamId
    start: int
    end: int
    checks: tuple[Check, ...]
    kind: ObjectKind
    path: str


class Pointers:
    """Follows the pointers of one domain's entries, and counts them."""

    def __init__(self, deps: CheckDeps, bucket: Bucket, domain: MetaDomain, windows: Windows | None) -> None:
        self._deps = deps
        self._bucket = bucket
        self._domain = domain
        self._windows = windows
        self._verifier = Verifier(deps)
        self._looked_up: OrderedDict[bytes, Known] = OrderedDict()
        self.unprotected: dict[bytes, Known] = {}
        """Objects outside the window with entries that can lose them."""

    async def follow(self, at: EntryAt, log_start: int) -> AsyncIterator[Finding]:
        """Check where an entry points, if that is into the window; expired entries are only counted."""
        window = None if self._windows is None else self._windows.get((self._domain, kind_of(at.entry)))
        object_id = id_of(at.entry)
        if self._windows is not None and (window is None or not window.covers(object_id)):
            return
        known = None if window is None else window.objects.get(object_id)
        if known is None:
            known = await self._look_up(at.entry)
            if known.is_unprotected:
                self.unprotected[object_id] = known
        self._count(known, at)
        if at.entry.end_offset <= log_start:
            return
        found = await self._examine(at, known)
        if found is not None and await self._is_unchanged(at):
            yield found

    def _count(self, known: Known, at: EntryAt) -> None:
        if not known.references:
            known.first_entry = (at.entry.stream, at.entry.start_offset, at.entry.end_offset)
            known.path = known.path or at.entry.path
        known.references += 1
        if known.is_unprotected and len(known.checks) < _CHECKS_MAX:
            known.checks.append(at.check)

    async def _examine(self, at: EntryAt, known: Known) -> Finding | None:
        entry = at.entry
        if known.stored_bytes is None or known.path != entry.path:
            await self._bucket.look_again(known, entry.path)
        place = _Pointer(
            domain=log_domain(self._domain),
            stream=entry.stream,
            start=entry.start_offset,
            end=entry.end_offset,
            checks=(at.check,),
            kind=known.kind,
            path=entry.path,
        )
        stored = known.stored_bytes
        if stored is None:
            return MissingObject(**place)
        expected = _expected_bytes(entry, known)
        if stored != expected:
            return ShortObject(**place, size_bytes=stored, expected_bytes=expected)
        damage = await self._damage(entry, known) if self._deps.deep else ""
        return DamagedObject(**place, reason=damage) if damage else None

    async def _damage(self, entry: IndexEntry, known: Known) -> str:
        if known.damage is None:
            known.damage = ""
            if known.kind is ObjectKind.WAL:
                known.damage = await self._verifier.wal_object(entry.path)
        return known.damage or await self._verifier.entry(entry)

    async def _is_unchanged(self, at: EntryAt) -> bool:
        """Return whether the entry is still there: its object existed for as long as it was."""
        stored = await self._deps.meta.get(log_domain(self._domain), at.key)
        return stored is not None and stored.version == at.version

    async def _look_up(self, entry: IndexEntry) -> Known:
        object_id = id_of(entry)
        known = self._looked_up.get(object_id) or self.unprotected.get(object_id)
        if known is None:
            known = await look_up(self._deps.meta, self._domain, kind_of(entry), object_id)
            await self._bucket.look_again(known, entry.path)
        self._looked_up[object_id] = known
        self._looked_up.move_to_end(object_id)
        if len(self._looked_up) > _LOOKED_UP_MAX:
            self._looked_up.popitem(last=False)
        return known


def _expected_bytes(entry: IndexEntry, known: Known) -> int:
    """Return the size that the object should have, by its record or by the entry."""
    if not isinstance(entry, WalEntry):
        return entry.size_bytes
    end = entry.chunk_offset + entry.chunk_length
    recorded = 0 if known.record is None else known.record.size_bytes
    expected = max(end, recorded or entry.wal_bytes)
    if not (recorded or entry.wal_bytes):
        expected = max(expected, known.stored_bytes or 0)  # its size was never recorded: any that is enough
    return expected
