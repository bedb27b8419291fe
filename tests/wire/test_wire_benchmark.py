"""A tiny run of the codec benchmark."""

from benchmarks.wire_codec import run


def test_benchmark_measures_every_figure() -> None:
    figures = run(seconds=0.02)
    assert len({figure.name for figure in figures}) == len(figures) == 16
    assert {figure.unit for figure in figures} == {"µs/message", "x"}
    assert all(figure.value > 0 for figure in figures)
