"""Recovery times, from the times at which clients made progress."""

import pytest

from tests.chaos.cluster.recovery import Injected, late, outcomes, stalls, unavailable
from tests.chaos.cluster.schedule import Fault


def injected(kind: str, since: float, until: float) -> Injected:
    return Injected(Fault(since, until - since, kind, "broker1", 0), "broker1", since, until)


def every_second(*intervals: tuple[int, int]) -> list[float]:
    return [float(second) for begin, end in intervals for second in range(begin, end)]


KILL = injected("kill broker", 10.5, 13.5)
CUT = injected("cut broker from store", 40.5, 45.5)


def test_pause_and_resumption_are_those_of_the_slowest_series() -> None:
    series = {"quick": every_second((0, 60)), "slow": every_second((0, 11), (18, 60))}
    groups = {"group": every_second((0, 11), (25, 60))}
    killed, cut = outcomes([KILL, CUT], series, groups, 60)
    assert killed.paused_s == 7.5
    assert killed.resumed_s == 4.5
    assert killed.groups_resumed_s == 11.5
    assert cut.paused_s == 1
    assert cut.resumed_s == 0.5


def test_resumption_is_unknown_once_the_next_fault_has_begun() -> None:
    series = {"one": every_second((0, 11), (50, 60))}
    killed, cut = outcomes([KILL, CUT], series, series, 60)
    assert killed.resumed_s is None
    assert killed.paused_s == 30
    assert cut.resumed_s == 4.5


@pytest.mark.parametrize(("back", "patience", "expected"), [(20, 1, 0), (22, 1, 1), (22, 2, 0)])
def test_pause_after_a_killed_broker_has_a_bound(back: int, patience: float, expected: int) -> None:
    series = {"one": every_second((0, 11), (back, 60))}
    assert len(list(late(outcomes([KILL], series, series, 60), patience))) == expected


def test_pause_during_an_outage_has_none() -> None:
    series = {"one": every_second((0, 41), (59, 60))}
    assert list(late(outcomes([CUT], series, series, 60), 1)) == []


@pytest.mark.parametrize(("back", "expected"), [(75, 0), (77, 1)])
def test_stall_is_a_long_pause_less_the_time_of_faults(back: int, expected: int) -> None:
    """Two faults that overlap explain 15 of the seconds after second 30."""
    faults = [injected("etcd down", 31, 41), injected("store down", 36, 46)]
    series = {"one": every_second((0, 31), (back, 90))}
    assert len(list(stalls(series, faults, 1))) == expected


def test_unavailable_are_the_times_without_any_progress() -> None:
    series = {"one": [0.0, 1.0, 9.0], "two": [0.5, 4.0]}
    assert unavailable(series, 3) == [(1.0, 4.0), (4.0, 9.0)]
