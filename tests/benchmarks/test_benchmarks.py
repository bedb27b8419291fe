"""Tiny runs of the benchmarks, so that they do not rot; their figures are not checked."""

from pathlib import Path

import pytest

from benchmarks import append, groups, index_lookup, kernels, meta_commits, wal_encode
from benchmarks.figures import Figure


def _sane(figures: list[Figure]) -> None:
    assert figures
    for figure in figures:
        assert figure.value > 0
        assert figure.name in figure.line()


def test_append_benchmark_runs(tmp_path: Path) -> None:
    _sane(append.run(seconds=0.4, directory=tmp_path))


def test_commit_benchmark_runs(tmp_path: Path) -> None:
    _sane(meta_commits.run(seconds=0.3, directory=tmp_path))


def test_index_lookup(tmp_path: Path) -> None:
    _sane(index_lookup.run(seconds=0.2, sizes=(100, 2_000), directory=tmp_path))


def test_kernels() -> None:
    figures = kernels.run(seconds=0.1, total_bytes=256 * 1024)
    _sane(figures)
    assert {"decode 100 B, 16 KiB batches, zstd", "encode 1 KiB, 1024 KiB batches"} <= {
        x.name for x in figures
    }


def test_wal_encode() -> None:
    _sane(wal_encode.run(seconds=0.3))


@pytest.mark.slow
def test_groups() -> None:
    scale = groups.Scale(groups=2, seconds=0.5, members=3, partitions=6)
    figures = list(groups.run(scale, ["Dray"]))
    assert [figure.unit for figure in figures] == ["% of a core", "s of CPU"] * 2
    assert all(figure.reached is not None for figure in figures)


def test_figure_reports_whether_its_bar_is_reached_or_missed() -> None:
    assert "reached" in Figure("x", 2.0, "MB/s", 1.0).line()
    assert "MISSED" in Figure("x", 0.5, "MB/s", 1.0).line()
    assert "reached" in Figure("x", 1.5, "times", 2.0, at_most=True).line()
    assert "MISSED" in Figure("x", 2.5, "times", 2.0, at_most=True).line()
