"""Benchmarks run tiny here, so that they do not rot; what they measure is not judged."""

from pathlib import Path

import pytest

from benchmarks import append, index_lookup, meta_commits, wal_encode
from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.figures import Figure


def _sane(figures: list[Figure]) -> None:
    assert figures
    for figure in figures:
        assert figure.value > 0
        assert figure.name in figure.line()


def test_append(tmp_path: Path) -> None:
    _sane(append.run(seconds=0.4, directory=tmp_path))


def test_commits(tmp_path: Path) -> None:
    _sane(meta_commits.run(seconds=0.3, directory=tmp_path))


def test_index_lookup(tmp_path: Path) -> None:
    _sane(index_lookup.run(seconds=0.2, sizes=(100, 2_000), directory=tmp_path))


def test_wal_encode() -> None:
    _sane(wal_encode.run(seconds=0.3))


def test_a_bar_is_told_as_reached_or_missed() -> None:
    assert "reached" in Figure("x", 2.0, "MB/s", 1.0).line()
    assert "MISSED" in Figure("x", 0.5, "MB/s", 1.0).line()
    assert "reached" in Figure("x", 1.5, "times", 2.0, at_most=True).line()
    assert "MISSED" in Figure("x", 2.5, "times", 2.0, at_most=True).line()


def test_the_command_tells_machine_and_versions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wal", "--seconds", "0.2"]) == 0
    told = capsys.readouterr().out
    assert "cores" in told
    assert "apsw" in told
    assert "WAL encode" in told


def test_an_unknown_benchmark_is_told_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["nothing"])
    told = capsys.readouterr().err
    assert all(name in told for name in BENCHMARKS)
