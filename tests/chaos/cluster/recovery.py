"""Recovery from faults: how long clients made no progress, by the times at which they did. Pure.

A series is the progress of one client in one partition: records acknowledged, or records read by a group.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from tests.chaos.cluster.schedule import Fault

Series = Mapping[str, Sequence[float]]
"""Sorted times, by the name of the client and the partition."""

PAUSE_BOUNDS_S: Final = {"kill broker": 10.0, "kill etcd": 5.0, "move oxia leaders": 5.0}
"""The longest pause of any producer after a fault that should only interrupt it."""
RESUME_BOUND_S: Final = 30.0
"""The longest pause of any series that is not explained by a fault."""


class Injected(NamedTuple):
    """A fault as it was injected; times are of the monotonic clock."""

    fault: Fault
    target: str
    since: float
    until: float


class Outcome(NamedTuple):
    """What a fault did to the clients, until the next fault began."""

    injected: Injected
    paused_s: float
    """The longest pause of a producer since the fault began."""
    slowest: str
    """The series that had it."""
    resumed_s: float | None
    """How long after the fault's end all producers made progress; None if the next fault began before."""
    groups_resumed_s: float | None
    """The same for groups."""


def outcomes(faults: Sequence[Injected], producers: Series, groups: Series, end: float) -> list[Outcome]:
    """Return the outcome of each fault, in the order they began."""
    return [
        Outcome(
            one,
            *_longest_pause(producers, one.since, ends),
            _resumption(producers, one.until, ends),
            _resumption(groups, one.until, ends),
        )
        for one, ends in zip(faults, _windows(faults, end), strict=True)
    ]


def late(found: Sequence[Outcome], patience: float) -> Iterator[str]:
    """Yield the faults that interrupted producers for longer than the bound of their kind."""
    for one in found:
        bound_s = PAUSE_BOUNDS_S.get(one.injected.fault.kind)
        if bound_s is not None and one.paused_s > bound_s * patience:
            yield f"late: {one.slowest} paused for {one.paused_s:.1f} s after {one.injected.fault}"


def stalls(series: Series, faults: Sequence[Injected], patience: float) -> Iterator[str]:
    """Yield pauses that are longer than the bound, not counting the time in which a fault was active."""
    for name, times in series.items():
        for before, after in pairwise(times):
            if after - before > RESUME_BOUND_S:
                unexplained_s = (after - before) - _covered(faults, before, after)
                if unexplained_s > RESUME_BOUND_S * patience:
                    yield f"stalled: {name} made no progress for {unexplained_s:.1f} s without a fault"


def unavailable(series: Series, at_least_s: float) -> list[tuple[float, float]]:
    """Return the times in which no series made any progress."""
    times = sorted(time for some in series.values() for time in some)
    return [(before, after) for before, after in pairwise(times) if after - before >= at_least_s]


def _windows(faults: Sequence[Injected], end: float) -> list[float]:
    """Return for each fault when the next one began, or when all was over."""
    return [after.since for after in faults[1:]] + [end] * bool(faults)


def _longest_pause(series: Series, since: float, until: float) -> tuple[float, str]:
    longest = (0.0, "")
    for name, times in series.items():
        inside = times[bisect_right(times, since) : bisect_right(times, until)]
        pause_s = max(after - before for before, after in pairwise([since, *inside, until]))
        longest = max(longest, (pause_s, name))
    return longest


def _resumption(series: Series, at: float, until: float) -> float | None:
    longest = 0.0
    for times in series.values():
        place = bisect_left(times, at)
        if place == len(times) or times[place] > until:
            return None
        longest = max(longest, times[place] - at)
    return longest


def _covered(faults: Sequence[Injected], begin: float, end: float) -> float:
    """Return how much of an interval faults cover together."""
    covered, reached = 0.0, begin
    for fault in sorted(faults, key=lambda one: one.since):
        since, until = max(fault.since, reached), min(fault.until, end)
        if until > since:
            covered += until - since
            reached = until
    return covered
