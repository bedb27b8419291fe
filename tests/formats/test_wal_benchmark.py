"""Tiny run of the WAL encoding benchmark: every figure is measured."""

from benchmarks.wal_encode import run


def test_benchmark_measures_every_figure() -> None:
    figures = run(seconds=0.02)
    assert {figure.unit for figure in figures} == {"MB/s", "µs/batch"}
    assert len({figure.name for figure in figures}) == 6
    assert all(figure.value > 0 for figure in figures)
