"""Tiny run of the growth benchmark on SQLite: every measure has figures; speed is not checked."""

from pathlib import Path

import pytest

from benchmarks.growth import Run, Scale
from benchmarks.growth.backends import sqlite
from benchmarks.growth.measures import Loads

TINY = Scale(40, Loads(records=1_000, paced=20, rate=100, idle_s=0.1), 1, (2,))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_few_and_many_partitions_side_by_side(tmp_path: Path) -> None:
    outcome = Run(TINY, tmp_path, lambda _: None, [sqlite]).outcome(["left out: something"])
    assert outcome.lines[0] == "left out: something"
    text = "\n".join(outcome.lines)
    for measured in (
        "create the topic, s",
        "Metadata of the topic, ms",
        "restart to",
        "produce, CPU s/GB",
        "commits/s",
    ):
        assert measured in text
    assert "commits/s" in text
    assert "bar: at most 3 times as much CPU" in text
    assert any(line.startswith("2 ") for line in outcome.lines), "two broker processes"
    assert set(outcome.plots) == {"growth-cpu.svg", "growth-metadata.svg", "growth-restart.svg"}
