"""The benchmark of this room still runs and still measures something."""

from benchmarks.wire_codec import run


def test_every_figure_is_measured() -> None:
    figures = run(seconds=0.02)
    assert len({figure.name for figure in figures}) == len(figures) == 16
    assert {figure.unit for figure in figures} == {"µs/message", "x"}
    assert all(figure.value > 0 for figure in figures)
