"""Skipped entries: WAL entries that cannot be converted to rows.

An object may be damaged, missing or unreadable, or hold a batch that its producer made unreadable. None of
the entry's records is dropped: the entry stays in the index and in the WAL, readable as before, and the
entries before and after it are compacted without it. The stream's job record lists the skipped ranges with
the reasons, for status and metrics; adjacent entries with the same kind of reason are one range. A process
retries them with backoff, as the object may be restored.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from dray.compaction.backoff import Backoff
from dray.ids import StreamId
from dray.index import IndexEntry, SkippedRange, WalEntry

NAMED_MAX: Final = 200
"""Maximum number of ranges that a job record names. Of further ones it has the offsets alone.

Their number is not limited: each range has at least one entry in the index, which is larger.
"""

_NUMBER: Final = re.compile(r"\b[0-9a-f]*[0-9][0-9a-f]*\b")


class UnconvertibleEntry(msgspec.Struct, frozen=True, array_like=True):
    """A WAL entry that a task could not convert, and the reason."""

    start_offset: int
    end_offset: int
    path: str
    reason: str


class SkippedEntries:
    """The entries that this process has failed to convert, by stream and end offset."""

    def __init__(self, backoff: Backoff) -> None:
        self._backoff = backoff
        self._known: dict[StreamId, set[int]] = {}

    def add(self, stream: StreamId, entries: Iterable[UnconvertibleEntry]) -> None:
        """Start or extend the backoff of entries."""
        known = self._known.setdefault(stream, set())
        for entry in entries:
            known.add(entry.end_offset)
            self._backoff.failed((stream, entry.end_offset))

    def backing_off(self, stream: StreamId) -> frozenset[int]:
        """Return the end offsets of the entries that must not be retried yet."""
        known = self._known.get(stream, ())
        return frozenset(end for end in known if self._backoff.is_backing_off((stream, end)))

    def keep_only(self, stream: StreamId, entries: Iterable[IndexEntry]) -> None:
        """Forget entries that were converted or deleted; `entries` are all readable ones."""
        known = self._known.get(stream)
        if not known:
            return
        obsolete = known - {entry.end_offset for entry in entries if isinstance(entry, WalEntry)}
        known -= obsolete
        for end in obsolete:
            self._backoff.succeeded((stream, end))

    def retain_only(self, streams: Collection[StreamId]) -> None:
        """Forget all other streams: they were deleted."""
        self._known = {stream: ends for stream, ends in self._known.items() if stream in streams}


class SkippedEnds:
    """The end offsets of skipped WAL entries, as a container; made from ranges in offset order."""

    def __init__(self, skipped: Sequence[SkippedRange]) -> None:
        self._skipped = skipped
        self._starts = [one.start_offset for one in skipped]

    def __contains__(self, end_offset: object) -> bool:
        return isinstance(end_offset, int) and self.place(end_offset) is not None

    def place(self, end_offset: int) -> int | None:
        """Return the number of the range that has the entry with this end offset; None if none has."""
        place = bisect_left(self._starts, end_offset) - 1
        return place if place >= 0 and end_offset <= self._skipped[place].end_offset else None


def skipped_records(skipped: Iterable[SkippedRange]) -> int:
    return sum(one.end_offset - one.start_offset for one in skipped)


def still_skipped(skipped: Sequence[SkippedRange], entries: Iterable[IndexEntry]) -> tuple[SkippedRange, ...]:
    """Return the ranges that are still in the WAL; `entries` are the readable ones of the stream."""
    ends, left = SkippedEnds(skipped), list[SkippedRange]()
    for entry in entries:
        if isinstance(entry, WalEntry) and (place := ends.place(entry.end_offset)) is not None:
            whole = skipped[place]
            path = entry.path if whole.path else ""
            left.append(
                SkippedRange(entry.start_offset, entry.end_offset, path, whole.reason, whole.since_ms)
            )
    return _merged(left)


def with_skipped(
    skipped: Sequence[SkippedRange], failed: Iterable[UnconvertibleEntry], now_ms: int
) -> tuple[SkippedRange, ...]:
    """Add entries that have just failed; returns all ranges in offset order, at most `NAMED_MAX` named."""
    ends, left, again = SkippedEnds(skipped), list[SkippedRange](), dict[int, list[UnconvertibleEntry]]()
    for one in failed:
        place = ends.place(one.end_offset)
        if place is None:
            left.append(_range_of(one, now_ms))
        else:
            again.setdefault(place, []).append(one)
    for place, whole in enumerate(skipped):
        left += _cut(whole, again.get(place, ()))
    return _merged(_limited(_merged(sorted(left, key=_end_offset))))


def _range_of(one: UnconvertibleEntry, since_ms: int) -> SkippedRange:
    return SkippedRange(one.start_offset, one.end_offset, one.path, one.reason, since_ms)


def _end_offset(one: SkippedRange | UnconvertibleEntry) -> int:
    return one.end_offset


def _cut(whole: SkippedRange, failed: Iterable[UnconvertibleEntry]) -> Iterator[SkippedRange]:
    """Split a range at entries that have failed again, which may have another reason by now."""
    at = whole.start_offset
    for one in sorted(failed, key=_end_offset):
        if one.start_offset > at:
            yield msgspec.structs.replace(whole, start_offset=at, end_offset=one.start_offset)
        yield _range_of(one, whole.since_ms)
        at = one.end_offset
    if at < whole.end_offset:
        yield msgspec.structs.replace(whole, start_offset=at)


def _merged(ranges: Iterable[SkippedRange]) -> tuple[SkippedRange, ...]:
    """Merge adjacent ranges whose reasons are of the same kind; path and reason are those of the first."""
    merged: list[SkippedRange] = []
    for one in ranges:
        last = merged[-1] if merged else None
        if last is None or last.end_offset != one.start_offset or _kind(last.reason) != _kind(one.reason):
            merged.append(one)
            continue
        since_ms = min(last.since_ms, one.since_ms)
        merged[-1] = msgspec.structs.replace(last, end_offset=one.end_offset, since_ms=since_ms)
    return tuple(merged)


def _limited(ranges: Sequence[SkippedRange]) -> Iterator[SkippedRange]:
    """Remove path and reason from all but `NAMED_MAX` ranges: the first ones of each kind are kept."""
    seen: Counter[str] = Counter()
    ranks: list[tuple[int, int]] = []
    for place, one in enumerate(ranges):
        if one.path:
            kind = _kind(one.reason)
            ranks.append((seen[kind], place))
            seen[kind] += 1
    named = {place for _, place in sorted(ranks)[:NAMED_MAX]}
    for place, one in enumerate(ranges):
        yield one if place in named else msgspec.structs.replace(one, path="", reason="")


@lru_cache(maxsize=2 * NAMED_MAX)
def _kind(reason: str) -> str:
    """Return the reason without the numbers in it."""
    return _NUMBER.sub("#", reason)
