"""Command that simulates seeds: its exit code, and what it prints of seeds with violations."""

import pytest

from dray.testing.sim.__main__ import main, report
from dray.testing.sim.seeds import Verdict

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


@pytest.mark.slow
@pytest.mark.parametrize("what", ["log", "groups", "tables"])
def test_one_seed_is_simulated(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([what, "--first", "10000", "--seeds", "1", "--workers", "1"]) == 0
    assert capsys.readouterr().out.startswith("1/1 seeds; acknowledged ")
