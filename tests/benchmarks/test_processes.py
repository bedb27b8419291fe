"""What is read of a process is whole, whatever its children do meanwhile."""

import os

import pytest

from benchmarks.beside_kafka import processes


def test_a_child_that_ends_in_mid_reading_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time is its parent's from then on, so the parent is read again."""
    parent, child = 1, 2
    ticks = {parent: [100, 150], child: [0]}
    families = iter([[parent, child], [parent], [parent]])
    monkeypatch.setattr(processes, "_family", lambda _: next(families))
    monkeypatch.setattr(processes, "_ticks", lambda pid: ticks[pid].pop(0))
    assert processes.cpu_seconds(parent) == 150 / os.sysconf("SC_CLK_TCK")
