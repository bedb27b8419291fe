"""CPU time of a process tree whose members end meanwhile."""

import os

import pytest

from benchmarks.beside_kafka import processes


def test_child_that_ends_during_the_reading_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time moves to its parent, so the parent is read again."""
    parent, child = 1, 2
    ticks = {parent: [100, 150], child: [0]}
    families = iter([[parent, child], [parent], [parent]])
    monkeypatch.setattr(processes, "_family", lambda _: next(families))
    monkeypatch.setattr(processes, "_ticks", lambda pid: ticks[pid].pop(0))
    assert processes.cpu_seconds(parent) == 150 / os.sysconf("SC_CLK_TCK")
