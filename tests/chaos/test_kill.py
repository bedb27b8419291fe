"""Real brokers killed and paused while producers run: shorter runs of what `make soak` does."""

from functools import partial
from pathlib import Path

import pytest

from tests.chaos import faults, stores
from tests.chaos.experiment import Figures, Plan, run
from tests.chaos.failpoints import POINTS, Point

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # on a busy machine starting a broker takes long

_KILLS = 4
_ACKNOWLEDGED_MIN = 500


def survived(store: stores.Store, fault: faults.Fault, times: int, brokers: int, home: Path) -> Figures:
    """Inject faults and check that exactly the acknowledged records are stored, once and in order."""
    reports: list[str] = []
    with store(home) as options:
        figures = run(Plan(fault, times, brokers, options), home / "data", reports.append)
    assert figures.violations == ()
    assert figures.faults.total() == times
    assert figures.acknowledged > _ACKNOWLEDGED_MIN
    assert figures.consumed > 0
    assert reports == [f"{times} of {times}"]
    return figures


def test_killed_broker_loses_no_acknowledged_record_on_local_storage(tmp_path: Path) -> None:
    figures = survived(stores.local_directory, faults.kill, _KILLS, 1, tmp_path)
    assert figures.faults.keys() & set(POINTS), "some were killed at a failpoint"
    assert figures.during_outages == 0, "no other broker accepts records"


@pytest.mark.real("seaweedfs")
def test_second_broker_keeps_serving_while_the_first_is_killed_on_s3(tmp_path: Path) -> None:
    figures = survived(stores.real_s3, faults.kill, _KILLS, 2, tmp_path)
    assert figures.faults.keys() & set(POINTS), "some were killed at a failpoint"
    assert figures.during_outages > 0, "the other broker keeps serving"


def test_broker_paused_past_its_session_loses_no_acknowledged_record(tmp_path: Path) -> None:
    figures = survived(stores.local_directory, faults.stall_between_commits, 2, 2, tmp_path)
    assert figures.during_outages > 0, "the other broker keeps serving"


@pytest.mark.parametrize(
    ("program", "point", "rule"),
    [("hasty", "before commit", "acked: "), ("forgetful", "after commit", "unique: ")],
)
def test_broker_with_an_injected_bug_violates_the_rules(
    program: str, point: Point, rule: str, tmp_path: Path
) -> None:
    """One acknowledges before it has committed, one accepts duplicate batches."""
    fault = partial(faults.kill_at, point)
    plan = Plan(fault, 2, 1, program=("tests.chaos.broken", program))
    figures = run(plan, tmp_path / "data", lambda _: None)
    assert [line for line in figures.violations if line.startswith(rule)]
