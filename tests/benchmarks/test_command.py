"""Command `python -m benchmarks`: the benchmarks it runs, its output, and invalid arguments."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import beside_kafka
from benchmarks.beside_kafka import FULL, QUICK, Outcome, Scale
from tests.parts import PARTS


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for results instead of the source tree; saved ones go to `kept`."""
    monkeypatch.setattr(command, "UNSAVED", tmp_path / "unsaved")
    monkeypatch.setattr(command, "RESULTS", tmp_path / "kept")
    return tmp_path


@pytest.fixture
def scales(monkeypatch: pytest.MonkeyPatch) -> list[Scale]:
    """The scales passed to the benchmark beside Kafka, which is not run."""
    asked: list[Scale] = []

    def pretend(scale: Scale, **_: object) -> Outcome:
        asked.append(scale)
        return Outcome(["beside, and it MISSED"], {"beside-kafka-cpu.svg": "<svg/>"}, 1)

    monkeypatch.setattr(beside_kafka, "run", pretend)
    return asked


def test_output_names_machine_and_versions(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["wal", "--seconds", "0.2"]) == 0
    output = capsys.readouterr().out
    assert "cores" in output
    assert "apsw" in output
    assert "WAL encode" in output
    assert "WAL encode" in (written / "unsaved" / "log.txt").read_text()


def test_missed_bar_is_reported_without_failing(
    written: Path, scales: list[Scale], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["kafka"]) == 0
    output = capsys.readouterr().out
    assert "MISSED" in output
    assert "1 figures missed their bar" in output
    assert scales == [FULL]


def test_text_and_plots_are_saved_only_with_save(written: Path, scales: list[Scale]) -> None:
    command.main(["kafka"])
    assert not (written / "kept").exists()
    command.main(["kafka", "--save"])
    assert "MISSED" in (written / "kept" / "beside-kafka.txt").read_text()
    assert (written / "kept" / "beside-kafka-cpu.svg").read_text() == "<svg/>"


def test_quick_and_repeat_choose_the_scale(written: Path, scales: list[Scale]) -> None:
    command.main(["kafka", "--quick"])
    command.main(["kafka", "--repeat", "7"])
    assert scales[0] == QUICK
    assert scales[1].rounds == 7
    assert scales[1].large_records == FULL.large_records


def test_pipeline_stands_for_all_table_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PARTS, "spark", replace(PARTS["spark"], find=lambda: Path("pyspark")))
    chosen = [(file.name, list(file.names)) for file in command._files(["pipeline", "wal"])]
    assert chosen == [
        ("log", ["wal"]),
        ("to-table", ["to-table"]),
        ("from-parquet", ["from-parquet"]),
        ("tables", ["table", "bulk"]),
    ]


def test_spark_benchmarks_are_left_out_without_spark(
    written: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(PARTS, "spark", replace(PARTS["spark"], find=lambda: None))
    assert command.main(["pipeline"]) == 0
    output = capsys.readouterr().out
    assert "left out: to-table, from-parquet, table, bulk: " in output
    assert PARTS["spark"].install in output
    assert not list((written / "unsaved").iterdir())


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["nothing"], "append, commits, index, kernels, wal, wire, kafka"),
        (["--repeat", "0"], "at least 1"),
        (["--quick", "--save"], "leave out --save"),
    ],
)
def test_invalid_arguments_are_refused(
    arguments: list[str], output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command.main(arguments)
    assert output in capsys.readouterr().err
