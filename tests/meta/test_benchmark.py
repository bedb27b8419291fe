"""The benchmark of commits still runs."""

from pathlib import Path

from benchmarks import meta_commits


def test_it_measures_every_number_of_callers(tmp_path: Path) -> None:
    figures = meta_commits.run(seconds=0.1, directory=tmp_path)
    assert [figure.name for figure in figures if figure.unit == "commits/s"] == [
        f"metadata commits, SQLite, {callers} callers" for callers in (1, 10, 100)
    ]
    assert all(figure.value > 0 for figure in figures)
