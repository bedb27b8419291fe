"""Examination of one stream: its head, and the chain of its index entries. Pure.

Entries are read page by page while the stream changes, so the head is read before and after them. Every entry
below the first head's high watermark was committed before the scan began: it must be found, unless the second
head starts after it. No entry may end after the second head's high watermark, because one commit writes both.
What depends on the head alone is only examined if both heads are the same.

Where entries contradict each other, or the head, it is unknown which of them is right, so nothing else in the
stream is repaired; a head is rebuilt only from a chain without contradictions.

    1. StreamChain(…, head before)
    2. add(…)             each entry, in the order of the keys
    3. finish(head after) returns the findings

Entries before the log start are left over from a trim, and the next sweep removes them: they are not a
finding.
"""

from dataclasses import dataclass, field, replace
from typing import TypedDict

import msgspec

from dray.check.stream_findings import (
    Gap,
    HeadMismatch,
    MisplacedEntry,
    Overlap,
    SizeMismatch,
    StreamFinding,
    TimeMismatch,
    is_contradiction,
)
from dray.ids import Domain, StreamId
from dray.index import NO_TIMESTAMP, IndexEntry, StreamHead, WalEntry
from dray.keyspace import entry_key, head_key
from dray.meta.port import Check, Version

_FINDINGS_MAX = 200
"""Findings per stream and examination, and as many gaps; a damaged stream may have one for each entry."""


class _Place(TypedDict):
    domain: Domain
    stream: StreamId
    start: int
    end: int
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class HeadAt:
    """A stream head as it was read."""

    head: StreamHead
    version: Version


@dataclass(frozen=True, slots=True)
class EntryAt:
    """An index entry as it was read."""

    key: str
    version: Version
    entry: IndexEntry

    @property
    def check(self) -> Check:
        return Check(self.key, self.version)


@dataclass(slots=True)
class StreamChain:
    """The state of an examination; `before` is None for a stream without a head."""

    domain: Domain
    stream: StreamId
    before: HeadAt | None
    first: EntryAt | None = None
    last: EntryAt | None = None
    entries: int = 0
    replayed: int = 0
    """Entries after the producer snapshot of the head, or after the last Parquet file if there is no head."""
    _file_end: int = 0
    _latest_ms: int = NO_TIMESTAMP
    _found: list[StreamFinding] = field(default_factory=list)
    _gaps: int = 0

    def add(self, at: EntryAt) -> None:
        entry, previous = at.entry, self.last
        self.entries += 1
        if (
            entry.start_offset >= entry.end_offset
            or entry_key(self.stream, entry.end_offset, entry.cumulative_size) != at.key
            or entry.stream != self.stream
        ):
            self._report(MisplacedEntry(**self._at(entry.start_offset, entry.end_offset, at), key=at.key))
        self.first = self.first or at
        self.last = at
        self._count(entry)
        if self.before is None or entry.end_offset <= self.before.head.log_start:
            return
        self._check_place(self.before.head.log_start, previous, at)
        self._check_running(previous, at)

    def finish(self, after: HeadAt | None) -> list[StreamFinding]:
        """Return the findings; none of a stream that is deleted or has no head."""
        before = self.before
        if before is None or after is None or before.head.deleted or after.head.deleted:
            return []
        start = after.head.log_start
        found = [one for one in self._found if not (isinstance(one, Gap) and one.end <= start)]
        covered = self._covered(start)
        if covered < before.head.high_watermark:
            found.append(Gap(**self._at(covered, before.head.high_watermark, self.last)))
        is_consistent = not any(map(is_contradiction, found))
        reason = self._contradiction(before, after)
        if reason:
            checks = (Check(head_key(self.stream), after.version), *((self.last.check,) if self.last else ()))
            found.append(
                HeadMismatch(
                    domain=self.domain,
                    stream=self.stream,
                    checks=checks,
                    reason=reason,
                    rebuilt=self._rebuilt(after.head) if is_consistent else None,
                )
            )
        return _held(found)

    def rebuilt_head(self) -> StreamHead | None:
        """Return the head that follows from the entries alone, or None if there are none."""
        if self.first is None or self.last is None:
            return None
        last = self.last.entry
        return StreamHead(
            high_watermark=last.end_offset,
            log_start=self.first.entry.start_offset,
            cumulative_size=last.cumulative_size,
            max_timestamp_ms=last.running_max_timestamp_ms,
            snapshot_end=max(self._file_end, self.first.entry.start_offset),
            unsnapshotted=self.replayed,
        )

    def _count(self, entry: IndexEntry) -> None:
        """Count the entries to replay for producer state."""
        if self.before is not None:
            self.replayed += entry.end_offset > self.before.head.snapshot_end
        elif isinstance(entry, WalEntry):
            self.replayed += 1
        else:
            self.replayed, self._file_end = 0, entry.end_offset

    def _check_place(self, log_start: int, previous: EntryAt | None, at: EntryAt) -> None:
        entry = at.entry
        end = log_start if previous is None else max(log_start, previous.entry.end_offset)
        if entry.start_offset > end:
            self._report(Gap(**self._at(end, entry.start_offset, previous, at)))
        if previous is None or previous.entry.end_offset <= log_start:
            return
        if entry.start_offset < previous.entry.end_offset:
            self._report(Overlap(**self._at(entry.start_offset, previous.entry.end_offset, previous, at)))
        elif entry.start_offset == previous.entry.end_offset:
            self._check_size(previous, at)

    def _check_size(self, previous: EntryAt, at: EntryAt) -> None:
        entry, before = at.entry, previous.entry.cumulative_size
        if isinstance(entry, WalEntry):
            expected = before + entry.chunk_length
            continues = entry.cumulative_size == expected
        else:  # the size of the entries that it replaced; it may have some of their records only
            expected = before + 1
            continues = entry.cumulative_size >= expected
        if not continues:
            place = self._at(entry.start_offset, entry.end_offset, previous, at)
            self._report(SizeMismatch(**place, expected=expected, found=entry.cumulative_size))

    def _check_running(self, previous: EntryAt | None, at: EntryAt) -> None:
        entry = at.entry
        at_least_ms = max(self._latest_ms, entry.max_timestamp_ms)
        self._latest_ms = max(at_least_ms, entry.running_max_timestamp_ms)
        if entry.running_max_timestamp_ms < at_least_ms:
            self._report(
                TimeMismatch(
                    **self._at(entry.start_offset, entry.end_offset, previous, at),
                    key=at.key,
                    found_ms=entry.running_max_timestamp_ms,
                    raised=msgspec.structs.replace(entry, running_max_timestamp_ms=at_least_ms),
                )
            )

    def _covered(self, log_start: int) -> int:
        """Return the offset up to which the entries reach."""
        return log_start if self.last is None else max(log_start, self.last.entry.end_offset)

    def _contradiction(self, before: HeadAt, after: HeadAt) -> str:
        """Return what the head contradicts, or an empty text."""
        head, last = after.head, None if self.last is None else self.last.entry
        if last is not None and last.end_offset > head.high_watermark:
            return f"it ends at {head.high_watermark}, its entries at {last.end_offset}"
        if before.version != after.version:
            return ""
        if head.log_start > head.high_watermark:
            return f"it starts at {head.log_start}, after its end {head.high_watermark}"
        if head.snapshot_end > head.high_watermark:
            return f"its producer snapshot ends at {head.snapshot_end}, after its end {head.high_watermark}"
        if last is None or last.end_offset != head.high_watermark or last.end_offset <= head.log_start:
            return ""
        return self._contradiction_of_last(head, last)

    def _contradiction_of_last(self, head: StreamHead, last: IndexEntry) -> str:
        size, latest_ms = last.cumulative_size, last.running_max_timestamp_ms
        if size != head.cumulative_size:
            return f"its cumulative size is {head.cumulative_size}, that of its last entry {size}"
        if latest_ms > head.max_timestamp_ms:
            return f"its latest time is {head.max_timestamp_ms}, that of its last entry {latest_ms}"
        if (
            self.replayed != head.unsnapshotted and not self._found
        ):  # else it counts the entries that are lost
            return f"{self.replayed} entries follow the producer snapshot, it counts {head.unsnapshotted}"
        return ""

    def _rebuilt(self, head: StreamHead) -> StreamHead | None:
        """Return the head with what follows from the entries; only if they reach its end."""
        if self.last is None or self.last.entry.end_offset < head.high_watermark or head.log_start < 0:
            return None
        last = self.last.entry
        if head.log_start > last.end_offset or head.snapshot_end > last.end_offset:
            return None
        return msgspec.structs.replace(
            head,
            high_watermark=last.end_offset,
            cumulative_size=last.cumulative_size,
            max_timestamp_ms=max(head.max_timestamp_ms, last.running_max_timestamp_ms),
            unsnapshotted=self.replayed,
        )

    def _at(self, start: int, end: int, *rests_on: EntryAt | None) -> _Place:
        checks = tuple(one.check for one in rests_on if one is not None)
        return {"domain": self.domain, "stream": self.stream, "start": start, "end": end, "checks": checks}

    def _report(self, finding: StreamFinding) -> None:
        """Add a finding unless there are too many; no other kind displaces gaps, which hold back repairs."""
        is_gap = isinstance(finding, Gap)
        self._gaps += is_gap
        if len(self._found) < _FINDINGS_MAX or (is_gap and self._gaps <= _FINDINGS_MAX):
            self._found.append(finding)


def _held(found: list[StreamFinding]) -> list[StreamFinding]:
    """Hold back repairs of entries if there is a contradiction."""
    if not any(map(is_contradiction, found)):
        return found
    return [replace(one, held=True) if isinstance(one, TimeMismatch) else one for one in found]
