"""Comparison of the records of objects with the index entries that point to them.

Every commit that adds or removes an entry of an object also changes the object's record. So if a record is
the same before and after all entries were read, they were counted exactly. Where it has changed, they are
counted again; what changes a second time is left to the next check.
"""

from collections import Counter
from collections.abc import AsyncIterator, Container, Iterable, Iterator, Mapping

from dray.check.deps import CheckDeps, DomainState, Owners
from dray.check.findings import Finding, ObjectKind
from dray.check.object_findings import (
    ExcessReferences,
    OverdueDeletion,
    Stray,
    Unprotected,
    Unreferenced,
    WrongReferences,
)
from dray.check.pointers import id_of
from dray.check.window import Known, Marker, Window, look_up
from dray.ids import FileId, StreamId, WalId
from dray.index import (
    CorruptValue,
    ParquetFile,
    StagingMarker,
    WalObject,
    decode_entry,
)
from dray.keyspace import entries_of_streams, file_key, log_domain, wal_object_key
from dray.meta.port import ABSENT, Check
from dray.meta.reading import scan_all


class ObjectCheck:
    """Compares the objects of one domain, once their entries have been counted."""

    def __init__(self, deps: CheckDeps, state: DomainState, owners: Owners) -> None:
        self._deps = deps
        self._state = state
        self._domain = log_domain(state.domain)
        self._owners = owners

    async def compare(self, window: Window) -> AsyncIterator[Finding]:
        """Compare the objects of a window, all of whose entries have been counted."""
        changed: list[Known] = []
        for known in window.objects.values():
            if known.references and known.is_unprotected:
                async for finding in self.unprotected([known]):
                    yield finding
                continue
            miscount = self._miscount(known)
            if miscount is None:
                async for finding in self._overdue(known):
                    yield finding
            elif await self._is_unchanged(known):
                self._note(miscount)
                yield miscount
            else:
                changed.append(known)
        async for finding in self._recount(changed):
            yield finding

    async def unprotected(self, objects: Iterable[Known]) -> AsyncIterator[Finding]:
        """Confirm objects that have entries, and no record or a marker to delete them."""
        for known in objects:
            now = await look_up(self._deps.meta, self._state.domain, known.kind, known.object_id)
            markers = tuple(check for check, _ in now.markers if check in [old for old, _ in known.markers])
            if now.recorded is not None and not markers:
                continue
            if known.recorded is None and now.recorded is not None:
                continue  # committed meanwhile
            checks = await self._unchanged(known.checks)
            if checks:
                yield self._unprotected(known, now, checks, markers)

    def _unprotected(
        self, known: Known, now: Known, checks: tuple[Check, ...], markers: tuple[Check, ...]
    ) -> Unprotected:
        stream, start, end = known.first_entry
        owner = self._owners.of.get(StreamId(stream))
        return Unprotected(
            domain=self._domain,
            checks=checks,
            stream=StreamId(stream),
            start=start,
            end=end,
            kind=known.kind,
            path=known.path,
            object_id=known.object_id,
            size_bytes=known.stored_bytes or 0,
            references=known.references,
            recorded=now.recorded is not None,
            markers=markers,
            topic=None if owner is None else owner.topic,
            complete=not self._state.has_gaps,
        )

    def _miscount(self, known: Known) -> Finding | None:
        if known.recorded is None:
            return None
        checks = (Check(self._record_key(known), known.recorded),)
        held = self._state.has_gaps
        record = known.record
        if not known.references and record is not None:
            return Unreferenced(
                domain=self._domain,
                checks=checks,
                kind=known.kind,
                path=known.path,
                object_id=known.object_id,
                size_bytes=record.size_bytes,
                topic=known.topic,
                stream=record.stream if isinstance(record, ParquetFile) else None,
                held=held,
            )
        if not isinstance(record, WalObject) or record.references == known.references:
            return None
        object_id, counted = known.object_id, known.references
        if counted > record.references:
            return WrongReferences(
                domain=self._domain, checks=checks, object_id=object_id, record=record, counted=counted
            )
        return ExcessReferences(
            domain=self._domain,
            checks=checks,
            object_id=object_id,
            record=record,
            counted=counted,
            held=held,
        )

    def _note(self, miscount: Finding) -> None:
        self._state.may_have_unreferenced |= isinstance(miscount, Unreferenced | ExcessReferences)

    def strays(self, window: Window, referenced: Container[bytes]) -> Iterator[Finding]:
        """Return the old objects that no key names, unless an entry points to them: those are unprotected."""
        for path, (object_id, size_bytes) in window.strays.items():
            if object_id not in referenced:
                self._state.may_have_unreferenced = True
                yield Stray(
                    domain=self._domain,
                    kind=window.kind,
                    path=path,
                    size_bytes=size_bytes,
                    held=self._state.has_gaps,
                )

    async def count_all(self, objects: Mapping[bytes, Known]) -> None:
        """Count the entries of objects in all streams of the domain, not only in those that were read."""
        if not objects:
            return
        for known in objects.values():
            known.references, known.checks = 0, []
        async for stored in scan_all(self._deps.meta, self._domain, entries_of_streams(None, None)):
            try:
                known = objects[id_of(decode_entry(stored.key, stored.value))]
            except CorruptValue:
                self._state.has_gaps = True
            except KeyError:
                continue
            else:
                known.references += 1
                known.checks.append(Check(stored.key, stored.version))

    async def _recount(self, changed: list[Known]) -> AsyncIterator[Finding]:
        """Count again what has changed while it was counted."""
        if not changed:
            return
        again = [
            await look_up(self._deps.meta, self._state.domain, known.kind, known.object_id)
            for known in changed
        ]
        counted: Counter[bytes] = Counter()
        ids = {known.object_id for known in again}
        async for stored in scan_all(self._deps.meta, self._domain, entries_of_streams(None, None)):
            try:
                entry = decode_entry(stored.key, stored.value)
            except CorruptValue:
                continue
            if id_of(entry) in ids:
                counted[id_of(entry)] += 1
        for known in again:
            known.references = counted[known.object_id]
            miscount = self._miscount(known)
            if miscount is not None:
                self._note(miscount)
                if await self._is_unchanged(known):
                    yield miscount

    async def _overdue(self, known: Known) -> AsyncIterator[Finding]:
        if known.recorded is not None or known.references:
            return
        for check, marker in known.markers:
            if marker is None:
                continue
            due_ms = self._due_ms(marker)
            late = due_ms <= self._deps.clock.now_ms() - self._deps.overdue_ms
            if late and await self._unchanged([check]):
                yield OverdueDeletion(
                    domain=self._domain,
                    checks=(check,),
                    kind=known.kind,
                    path=marker.path,
                    due_ms=due_ms,
                    held=self._state.has_gaps,
                )

    def _due_ms(self, marker: Marker) -> int:
        if isinstance(marker, StagingMarker):
            return marker.created_at_ms + self._deps.settings.orphan_ttl_ms
        return marker.delete_after_ms

    async def _is_unchanged(self, known: Known) -> bool:
        version = ABSENT if known.recorded is None else known.recorded
        return bool(await self._unchanged([Check(self._record_key(known), version)]))

    async def _unchanged(self, checks: Iterable[Check]) -> tuple[Check, ...]:
        """Return the checks that still hold."""
        held = []
        for check in checks:
            stored = await self._deps.meta.get(self._domain, check.key)
            if check.version == (ABSENT if stored is None else stored.version):
                held.append(check)
        return tuple(held)

    def _record_key(self, known: Known) -> str:
        if known.kind is ObjectKind.WAL:
            return wal_object_key(self._state.domain, WalId(known.object_id))
        return file_key(self._state.domain, FileId(known.object_id))
