"""The caretaker of a group is killed in the middle of rebalances; shorter runs of what `make soak` does."""

from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.chaos import __main__ as soaking
from tests.chaos.__main__ import Amounts, main
from tests.chaos.groups import ordeal
from tests.chaos.groups.members import Protocol
from tests.chaos.groups.ordeal import Plan, undergo
from tests.chaos.groups.rounds import BOUND_S, Recovery
from tests.chaos.groups.summary import late, summary

_ROUNDS = 2
_ACKNOWLEDGED_MIN = 500


@pytest.mark.slow
@pytest.mark.timeout(600)  # on a busy machine starting a broker takes long
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_outlives_its_caretaker(protocol: Protocol, tmp_path: Path) -> None:
    """It is stable again in time, every record is read, and none again once that was committed."""
    said: list[str] = []
    figures = undergo(Plan(protocol, _ROUNDS), tmp_path / "data", said.append)
    assert figures.wrong == ()
    assert figures.faults.total() == _ROUNDS
    assert figures.followed >= figures.acknowledged > _ACKNOWLEDGED_MIN
    assert figures.meanwhile > 0, "members go on while a broker is away"
    assert [line.partition(":")[0] for line in said[:-1]] == [f"{done} of {_ROUNDS}" for done in (1, 2)]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_brokers_that_forget_commits_are_found_out(tmp_path: Path) -> None:
    plan = Plan("classic", 2, program=("tests.chaos.groups.broken",))
    figures = undergo(plan, tmp_path / "data", lambda _: None)
    assert {line.partition(":")[0] for line in figures.wrong} & {"again", "start", "finished"}


def recovery(stable_s: float) -> Recovery:
    return Recovery("join", "Stable", 2, 0.0, 3.0, stable_s, stable_s + 1, 0.5)


def test_what_takes_too_long_is_told_with_the_load() -> None:
    rounds = [recovery(1.0), recovery(BOUND_S), recovery(BOUND_S + 0.1)]
    (told,) = late(rounds)
    assert told.startswith("in time: round 3 ")
    assert "load 0.5" in told


def test_the_rounds_are_summed_up() -> None:
    told = summary([recovery(number) for number in range(1, 12)], Counter({"ILLEGAL_GENERATION": 2}))
    assert told.startswith("stable after 6.0 s, nine in ten 10.0 s, at most 11.0 s; ")
    assert told.endswith("2 ILLEGAL_GENERATION")


def test_both_protocols_are_parts_of_the_soak(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plans: list[Plan] = []

    def remember(parts: dict[str, soaking.Part], amounts: Amounts) -> int:
        for part in parts.values():
            part(amounts, tmp_path, lambda _: None)
        return 0

    monkeypatch.setattr(soaking, "soak", remember)
    monkeypatch.setattr(ordeal, "undergo", lambda plan, *_: plans.append(plan))
    chosen = ["--only", "groups-classic", "--only", "groups-consumer", "--seed", "3"]
    assert CliRunner().invoke(main, [*chosen, "--", "--set", "log.linger_ms=5"]).exit_code == 0
    options = ("--set", "log.linger_ms=5")
    assert plans == [Plan("classic", 25, options, 3), Plan("consumer", 25, options, 3)]
