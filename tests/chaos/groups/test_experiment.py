"""Kills of a group's owner in the middle of rebalances: shorter runs of what `make soak` does."""

from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.chaos import __main__ as soaking
from tests.chaos.__main__ import Amounts, main
from tests.chaos.groups import experiment
from tests.chaos.groups.experiment import Plan, run
from tests.chaos.groups.members import Protocol
from tests.chaos.groups.rounds import RECOVERY_BOUND_S, Recovery
from tests.chaos.groups.summary import late, summary

_ROUNDS = 2
_ACKNOWLEDGED_MIN = 500


@pytest.mark.slow
@pytest.mark.timeout(600)  # on a busy machine starting a broker takes long
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_group_survives_kills_of_its_owner(protocol: Protocol, tmp_path: Path) -> None:
    """It recovers within the bound, every record is read, and none again after it was committed."""
    reports: list[str] = []
    figures = run(Plan(protocol, _ROUNDS), tmp_path / "data", reports.append)
    assert figures.violations == ()
    assert figures.faults.total() == _ROUNDS
    assert figures.consumed >= figures.acknowledged > _ACKNOWLEDGED_MIN
    assert figures.during_outages > 0, "members keep reading while a broker is down"
    assert [line.partition(":")[0] for line in reports[:-1]] == [f"{done} of {_ROUNDS}" for done in (1, 2)]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_brokers_that_drop_commits_violate_the_rules(tmp_path: Path) -> None:
    plan = Plan("classic", 2, program=("tests.chaos.groups.broken",))
    figures = run(plan, tmp_path / "data", lambda _: None)
    assert {line.partition(":")[0] for line in figures.violations} & {"reread", "start", "final"}


def recovery(stable_s: float) -> Recovery:
    return Recovery("join", "Stable", 2, 0.0, 3.0, stable_s, stable_s + 1, 0.5)


def test_late_recovery_is_reported_with_the_load() -> None:
    rounds = [recovery(1.0), recovery(RECOVERY_BOUND_S), recovery(RECOVERY_BOUND_S + 0.1)]
    (violation,) = late(rounds)
    assert violation.startswith("late: round 3 ")
    assert "load 0.5" in violation


def test_summary_has_percentiles_and_client_errors() -> None:
    text = summary([recovery(number) for number in range(1, 12)], Counter({"ILLEGAL_GENERATION": 2}))
    assert text.startswith("stable after 6.0 s, p90 10.0 s, max 11.0 s; ")
    assert text.endswith("2 ILLEGAL_GENERATION")


def test_both_protocols_are_parts_of_the_soak(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plans: list[Plan] = []

    def record(parts: dict[str, soaking.Part], amounts: Amounts) -> int:
        for part in parts.values():
            part(amounts, tmp_path, lambda _: None)
        return 0

    monkeypatch.setattr(soaking, "soak", record)
    monkeypatch.setattr(experiment, "run", lambda plan, *_: plans.append(plan))
    chosen = ["--only", "groups-classic", "--only", "groups-consumer", "--seed", "3"]
    assert CliRunner().invoke(main, [*chosen, "--", "--set", "log.linger_ms=5"]).exit_code == 0
    options = ("--set", "log.linger_ms=5")
    assert plans == [Plan("classic", 25, options, 3), Plan("consumer", 25, options, 3)]
