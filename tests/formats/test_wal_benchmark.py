"""The benchmark of this room still runs and still measures something."""

from benchmarks.wal_encode import run


def test_every_figure_is_measured() -> None:
    figures = run(seconds=0.02)
    assert {figure.unit for figure in figures} == {"MB/s", "µs/batch"}
    assert len({figure.name for figure in figures}) == 6
    assert all(figure.value > 0 for figure in figures)
