"""Invariants of a consumer group under any sequence of faults. Each rule yields its violations as text.

skipped    every acknowledged record was read by a member
equal      the record read at an offset is the one acknowledged there
dense      a member reads an assigned partition without gaps
start      a member begins at offset 0 or at an offset whose commit was requested
reread     no member reads records that were committed before its assignment
rewind     no commit is below one that was confirmed before its request
final      in the end every record is committed, on each broker
complete   the producer had every record acknowledged; no member failed
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Self

from tests.chaos.groups.histories import (
    CommitRequested,
    Committed,
    GroupHistory,
    Ownership,
    Read,
    by_partition,
    ownerships,
)
from tests.chaos.histories import Ack, ProducerHistory


@dataclass(frozen=True, slots=True)
class Progress:
    """Commits of one partition, requested and confirmed, each in order."""

    requested: Sequence[CommitRequested]
    commits: Sequence[Committed]
    highest: Sequence[int]
    """The running maximum of the confirmed offsets."""

    @classmethod
    def of(cls, requested: Sequence[CommitRequested], commits: Sequence[Committed]) -> Self:
        return cls(requested, commits, list(accumulate((commit.offset for commit in commits), max)))

    def before(self, moment: float) -> int:
        """Return the highest offset whose commit was confirmed before `moment`."""
        count = bisect_left(self.commits, moment, key=lambda commit: commit.at)
        return self.highest[count - 1] if count else 0


def violations(
    producer: ProducerHistory, history: GroupHistory, committed: Iterable[Mapping[int, int]]
) -> list[str]:
    """Check the members' history and each broker's final offsets against the producer's history."""
    requested, commits = (
        by_partition(history.events, CommitRequested),
        by_partition(history.events, Committed),
    )
    progress = {
        number: Progress.of(requested.get(number, ()), commits.get(number, ())) for number in ends(producer)
    }
    found = [*_complete(producer, history), *_read(producer.acknowledged, history)]
    for ownership in ownerships(history.events):
        found += _dense(ownership)
        found += _start(ownership, progress[ownership.assigned.partition])
        found += _reread(ownership, progress[ownership.assigned.partition])
    for of_one in progress.values():
        found += _rewind(of_one)
    for offsets in committed:
        found += _final(ends(producer), offsets)
    return found


def ends(producer: ProducerHistory) -> dict[int, int]:
    """Return the offset after the last record of each partition."""
    found: dict[int, int] = {}
    for ack in producer.acknowledged.values():
        found[ack.partition] = max(found.get(ack.partition, 0), ack.offset + 1)
    return found


def _complete(producer: ProducerHistory, history: GroupHistory) -> Iterator[str]:
    for problem in [*producer.errors, *history.failures]:
        yield f"complete: {problem}"
    for name in producer.sent:
        if name not in producer.acknowledged:
            yield f"complete: {name} was never acknowledged"


def _read(acks: Mapping[str, Ack], history: GroupHistory) -> Iterator[str]:
    names = {(ack.partition, ack.offset): name for name, ack in acks.items()}
    missing = dict(names)
    for event in history.events:
        if isinstance(event, Read):
            at = (event.partition, event.offset)
            missing.pop(at, None)
            if names.get(at) != event.name:
                yield f"equal: {event.member} read {event.name} at {at}, acknowledged was {names.get(at)}"
    for at, name in missing.items():
        yield f"skipped: {name} at {at} was read by no member"


def _dense(ownership: Ownership) -> Iterator[str]:
    for expected, read in enumerate(ownership.reads, ownership.reads[0].offset):
        if read.offset != expected:
            yield f"dense: {ownership} has {read.offset} where {expected} should be"
            return


def _start(ownership: Ownership, progress: Progress) -> Iterator[str]:
    first = ownership.reads[0]
    requested = {one.offset for one in progress.requested if one.at < first.at}
    if first.offset not in requested | {0}:
        yield f"start: {ownership} begins at {first.offset}, which no member had committed"


def _reread(ownership: Ownership, progress: Progress) -> Iterator[str]:
    first, committed = ownership.reads[0].offset, progress.before(ownership.assigned.at)
    if first < committed:
        yield f"reread: {ownership} begins at {first}, {committed} was committed before it was assigned"


def _rewind(progress: Progress) -> Iterator[str]:
    """Concurrent commits may be confirmed in either order."""
    for commit in progress.commits:
        committed = progress.before(commit.requested_at)
        if commit.offset < committed:
            place = f"partition {commit.partition} to {commit.offset}"
            yield f"rewind: {commit.member} set {place}, {committed} was committed before its request"


def _final(expected: Mapping[int, int], found: Mapping[int, int]) -> Iterator[str]:
    for partition, end in expected.items():
        if found.get(partition) != end:
            yield f"final: partition {partition} ends at {end}, committed is {found.get(partition)}"
