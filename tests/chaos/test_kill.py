"""Real brokers are killed and halted while producers run; shorter runs of what `make soak` does."""

from functools import partial
from pathlib import Path

import pytest

from tests.chaos import faults, stores
from tests.chaos.doomed import POINTS, Point
from tests.chaos.ordeal import Figures, Plan, undergo

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # on a busy machine starting a broker takes long

_KILLS = 4
_ACKNOWLEDGED_MIN = 500


def endured(store: stores.Store, fault: faults.Fault, times: int, brokers: int, home: Path) -> Figures:
    """Every acknowledged record is there once, in order, and none that was not sent."""
    said: list[str] = []
    with store(home) as options:
        figures = undergo(Plan(fault, times, brokers, options), home / "data", said.append)
    assert figures.wrong == ()
    assert figures.faults.total() == times
    assert figures.acknowledged > _ACKNOWLEDGED_MIN
    assert figures.followed > 0
    assert said == [f"{times} of {times}"]
    return figures


def test_killed_on_a_local_directory(tmp_path: Path) -> None:
    figures = endured(stores.local_directory, faults.kill, _KILLS, 1, tmp_path)
    assert figures.faults.keys() & set(POINTS), "some died where they were told to"
    assert figures.meanwhile == 0, "nobody else takes records meanwhile"


@pytest.mark.real("seaweedfs")
def test_one_of_two_is_killed_on_real_s3(tmp_path: Path) -> None:
    figures = endured(stores.real_s3, faults.kill, _KILLS, 2, tmp_path)
    assert figures.faults.keys() & set(POINTS), "some died where they were told to"
    assert figures.meanwhile > 0, "the other broker goes on"


def test_halted_for_longer_than_its_session(tmp_path: Path) -> None:
    figures = endured(stores.local_directory, faults.stall_between_commits, 2, 2, tmp_path)
    assert figures.meanwhile > 0, "the other broker goes on"


@pytest.mark.parametrize(
    ("program", "point", "rule"),
    [("hasty", "before commit", "told: "), ("forgetful", "after commit", "once: ")],
)
def test_a_broken_broker_is_found_out(program: str, point: Point, rule: str, tmp_path: Path) -> None:
    """One that acknowledges before it has committed, and one that takes again what it had before."""
    fault = partial(faults.kill_at, point)
    plan = Plan(fault, 2, 1, program=("tests.chaos.broken", program))
    figures = undergo(plan, tmp_path / "data", lambda _: None)
    assert [line for line in figures.wrong if line.startswith(rule)]
