"""What holds for a group whatever broke when. Each rule returns what is wrong, in words.

skipped      every record that was acknowledged was read by somebody
same         what was read at an offset is what was acknowledged there
dense        a member reads its partition without a gap, from being given it on
start        a member begins at the beginning, or at an offset that somebody asked to commit
again        nothing is read by a member that was given the partition after that was committed
back         a commit never takes the group back behind one that was confirmed before it was asked for
finished     in the end everything is committed, whichever broker is asked
everything   the producer had everything acknowledged; no member ended by itself
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Self

from tests.chaos.groups.histories import Asked, Committed, Ledger, Read, Stint, by_partition, stints
from tests.chaos.histories import Place, Told


@dataclass(frozen=True, slots=True)
class Progress:
    """What was committed of one partition, and asked to be, each in its order."""

    asked: Sequence[Asked]
    commits: Sequence[Committed]
    highest: Sequence[int]
    """The highest offset of the commits up to each."""

    @classmethod
    def of(cls, asked: Sequence[Asked], commits: Sequence[Committed]) -> Self:
        return cls(asked, commits, list(accumulate((commit.offset for commit in commits), max)))

    def before(self, moment: float) -> int:
        """How far the group had come for sure: what was confirmed before `moment`."""
        count = bisect_left(self.commits, moment, key=lambda commit: commit.at)
        return self.highest[count - 1] if count else 0


def violations(told: Told, ledger: Ledger, committed: Iterable[Mapping[int, int]]) -> list[str]:
    """Compare what the producer was told, what the members did, and what each broker has in the end."""
    asked, commits = by_partition(ledger.events, Asked), by_partition(ledger.events, Committed)
    progress = {number: Progress.of(asked.get(number, ()), commits.get(number, ())) for number in ends(told)}
    wrong = [*_everything(told, ledger), *_read(told.acknowledged, ledger)]
    for stint in stints(ledger.events):
        wrong += _dense(stint)
        wrong += _start(stint, progress[stint.begun.partition])
        wrong += _again(stint, progress[stint.begun.partition])
    for of_one in progress.values():
        wrong += _back(of_one)
    for found in committed:
        wrong += _finished(ends(told), found)
    return wrong


def ends(told: Told) -> dict[int, int]:
    """The offset behind the last record of each partition."""
    found: dict[int, int] = {}
    for place in told.acknowledged.values():
        found[place.partition] = max(found.get(place.partition, 0), place.offset + 1)
    return found


def _everything(told: Told, ledger: Ledger) -> Iterator[str]:
    for problem in [*told.errors, *ledger.failures]:
        yield f"everything: {problem}"
    for name in told.sent:
        if name not in told.acknowledged:
            yield f"everything: {name} was never acknowledged"


def _read(places: Mapping[str, Place], ledger: Ledger) -> Iterator[str]:
    names = {(place.partition, place.offset): name for name, place in places.items()}
    missing = dict(names)
    for event in ledger.events:
        if isinstance(event, Read):
            at = (event.partition, event.offset)
            missing.pop(at, None)
            if names.get(at) != event.name:
                yield f"same: {event.member} read {event.name} at {at}, acknowledged was {names.get(at)}"
    for at, name in missing.items():
        yield f"skipped: {name} at {at} was read by nobody"


def _dense(stint: Stint) -> Iterator[str]:
    for expected, read in enumerate(stint.reads, stint.reads[0].offset):
        if read.offset != expected:
            yield f"dense: {stint} has {read.offset} where {expected} should be"
            return


def _start(stint: Stint, progress: Progress) -> Iterator[str]:
    first = stint.reads[0]
    known = {asked.offset for asked in progress.asked if asked.at < first.at}
    if first.offset not in known | {0}:
        yield f"start: {stint} begins at {first.offset}, which nobody had asked to commit"


def _again(stint: Stint, progress: Progress) -> Iterator[str]:
    first, stood = stint.reads[0].offset, progress.before(stint.begun.at)
    if first < stood:
        yield f"again: {stint} begins at {first}, {stood} was committed before it was given it"


def _back(progress: Progress) -> Iterator[str]:
    """Two that were under way at once may have been confirmed in either order."""
    for commit in progress.commits:
        stood = progress.before(commit.asked)
        if commit.offset < stood:
            place = f"partition {commit.partition} to {commit.offset}"
            yield f"back: {commit.member} set {place}, {stood} was committed before it asked"


def _finished(expected: Mapping[int, int], found: Mapping[int, int]) -> Iterator[str]:
    for partition, end in expected.items():
        if found.get(partition) != end:
            yield f"finished: partition {partition} ends at {end}, committed is {found.get(partition)}"
