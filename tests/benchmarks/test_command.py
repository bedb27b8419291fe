"""`python -m benchmarks`: what it runs, prints, writes and refuses."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import beside_kafka
from benchmarks.beside_kafka import FULL, QUICK, Outcome, Scale
from tests.parts import PARTS


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where results go, instead of into the tree; those to be kept go to `kept`."""
    monkeypatch.setattr(command, "UNSAVED", tmp_path / "unsaved")
    monkeypatch.setattr(command, "RESULTS", tmp_path / "kept")
    return tmp_path


@pytest.fixture
def scales(monkeypatch: pytest.MonkeyPatch) -> list[Scale]:
    """The scales that the benchmark beside Kafka was asked for; it is not run."""
    asked: list[Scale] = []

    def pretend(scale: Scale, **_: object) -> Outcome:
        asked.append(scale)
        return Outcome(["beside, and it MISSED"], {"beside-kafka-cpu.svg": "<svg/>"}, 1)

    monkeypatch.setattr(beside_kafka, "run", pretend)
    return asked


def test_it_tells_machine_and_versions(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["wal", "--seconds", "0.2"]) == 0
    told = capsys.readouterr().out
    assert "cores" in told
    assert "apsw" in told
    assert "WAL encode" in told
    assert "WAL encode" in (written / "unsaved" / "log.txt").read_text()


def test_a_missed_bar_is_told_and_is_no_failure(
    written: Path, scales: list[Scale], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["kafka"]) == 0
    told = capsys.readouterr().out
    assert "MISSED" in told
    assert "1 figures missed their bar" in told
    assert scales == [FULL]


def test_text_and_plots_are_kept_only_when_asked(written: Path, scales: list[Scale]) -> None:
    command.main(["kafka"])
    assert not (written / "kept").exists()
    command.main(["kafka", "--save"])
    assert "MISSED" in (written / "kept" / "beside-kafka.txt").read_text()
    assert (written / "kept" / "beside-kafka-cpu.svg").read_text() == "<svg/>"


def test_rounds_and_quickness_are_chosen(written: Path, scales: list[Scale]) -> None:
    command.main(["kafka", "--quick"])
    command.main(["kafka", "--repeat", "7"])
    assert scales[0] == QUICK
    assert scales[1].rounds == 7
    assert scales[1].large_records == FULL.large_records


def test_the_pipeline_is_all_that_has_to_do_with_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PARTS, "spark", replace(PARTS["spark"], find=lambda: Path("pyspark")))
    chosen = [(file.name, list(file.names)) for file in command._files(["pipeline", "wal"])]
    assert chosen == [
        ("log", ["wal"]),
        ("to-table", ["to-table"]),
        ("from-parquet", ["from-parquet"]),
        ("tables", ["table", "bulk"]),
    ]


def test_what_needs_spark_is_left_out_without_it(
    written: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(PARTS, "spark", replace(PARTS["spark"], find=lambda: None))
    assert command.main(["pipeline"]) == 0
    told = capsys.readouterr().out
    assert "left out: to-table, from-parquet, table, bulk: " in told
    assert PARTS["spark"].install in told
    assert not list((written / "unsaved").iterdir())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nothing"], "append, commits, index, kernels, wal, wire, kafka"),
        (["--repeat", "0"], "at least 1"),
        (["--quick", "--save"], "leave out --save"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command.main(arguments)
    assert told in capsys.readouterr().err
