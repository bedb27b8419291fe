"""Command that simulates seeds: its exit code, and what it prints of seeds with violations."""

from typing import Any

import pytest

from dray.testing.sim import __main__ as command
from dray.testing.sim.__main__ import main, report
from dray.testing.sim.seeds import Verdict, is_networked

GOOD = Verdict(3, (), ("an event",), acknowledged=5, crashes=1)
BAD = Verdict(4, ("I2: lost",), ("another event",), acknowledged=2, crashes=0)


def test_seeds_with_violations_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert report([GOOD, BAD], 2, history=False) == 1
    assert capsys.readouterr().out == "seed 4:\n  I2: lost\n2/2 seeds; acknowledged 7, crashes 1\n"


def test_history_is_printed_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert report([GOOD, BAD], 2, history=True) == 1
    printed = capsys.readouterr().out
    assert "another event" in printed
    assert "an event" not in printed.splitlines()


@pytest.mark.parametrize(
    ("option", "networked"),
    [(None, [False, True]), ("--network", [True, True]), ("--no-network", [False] * 2)],
)
def test_share_of_networked_seeds_is_chosen_by_an_option(
    option: str | None, networked: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []

    def run_here(simulate: Any, verdict: Any, seeds: range, workers: int) -> list[Verdict]:
        return [simulate(seed) for seed in seeds]

    def simulate(seed: int, *, networked: bool | None) -> Verdict:
        found.append(is_networked(seed) if networked is None else networked)
        return GOOD

    monkeypatch.setattr(command, "simulate_seeds", run_here)
    monkeypatch.setitem(command.SIMULATIONS, "log", (simulate, Verdict))
    assert main(["log", "--first", "2", "--seeds", "2", *filter(None, [option])]) == 0
    assert found == networked


@pytest.mark.slow
@pytest.mark.parametrize("what", ["log", "groups", "tables"])
def test_one_seed_is_simulated(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([what, "--first", "10000", "--seeds", "1", "--workers", "1"]) == 0
    assert capsys.readouterr().out.startswith("1/1 seeds; acknowledged ")
