"""Tiny runs of the table benchmarks: every case completes and has figures; speed is not checked."""

import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from benchmarks import bulk_load, from_parquet, table_commits
from benchmarks.beside_kafka.loads import Client
from benchmarks.beside_kafka.rounds import DiskTooSmall
from benchmarks.beside_kafka.servers import DRAY, KAFKA
from benchmarks.beside_kafka.text import texts
from benchmarks.to_table import Scale, counting, job_process
from benchmarks.to_table.benchmark import Run
from benchmarks.to_table.cases import CASES, PARTITIONS

TINY = Scale(rounds=1, warm_ups=0, large_records=200, small_records=1_000)
SPEAKS = "import sys; print('ready', flush=True); [print(line, flush=True) for line in sys.stdin]"


@pytest.mark.slow
@pytest.mark.real("java", "spark")
@pytest.mark.timeout(900)
def test_every_case_is_measured(tmp_path: Path) -> None:
    """The run itself verifies each table."""
    outcome = Run(TINY, tmp_path, [DRAY, KAFKA], progress=lambda _: None).outcome()
    for case in CASES:
        *speeds, cpu = [line for line in outcome.lines if line.startswith(f"{case.name}, ")]
        by_bytes, by_records = speeds[::2], speeds[1::2]
        assert (len(by_bytes), len(by_records)) == (2, 2)  # tuned and with default settings
        with_bar, others = (by_bytes, by_records) if case.size == 1024 else (by_records, by_bytes)
        assert all(f"at least {3 if case.size == 1024 else 5}x" in line for line in with_bar)
        assert not any("at least" in line for line in others)
        assert "s/GB" in cpu
    assert {"to-table.svg", "to-table-ratios.svg"} == set(outcome.plots)


@pytest.mark.slow
@pytest.mark.real("java", "spark")
@pytest.mark.timeout(900)
def test_same_topic_from_the_wal_and_from_parquet(tmp_path: Path) -> None:
    scale = from_parquet.Scale(rounds=1, large_records=600, small_records=1_200)
    outcome = from_parquet.Run(
        scale, tmp_path / "dray", [Client.LIBRDKAFKA], progress=lambda _: None
    ).outcome()
    for name in ("1 KiB, librdkafka, cold", "1 KiB, librdkafka, warm", "100 B, librdkafka, cold"):
        by_bytes, by_records = [line for line in outcome.lines if line.startswith(f"{name}, ")]
        assert "at least 0.5x" in by_bytes
        assert "msg/s" in by_records
    assert any(line.startswith("first fetch from Parquet") for line in outcome.lines)
    assert {"from-parquet.svg", "from-parquet-ratios.svg"} == set(outcome.plots)


@pytest.mark.slow
@pytest.mark.real("java", "spark")
@pytest.mark.timeout(900)
# Spark's `collect` leaves its socket to the garbage collector.
@pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"
)
def test_bulk_load_and_clients_load_the_same_rows(tmp_path: Path) -> None:
    figures = {figure.name: figure for figure in bulk_load.run(rows=2_000, directory=tmp_path)}
    for client in ("Spark's sink for Kafka", "librdkafka in Spark's workers", "librdkafka"):
        assert figures[f"{client} to a broker, rows of 100 B, zstd"].value > 0
        assert figures[f"bulk load beside {client}, rows of 100 B, zstd"].bar == 5


def test_commits_to_a_table(tmp_path: Path) -> None:
    first, last, ratio, expiry = table_commits.run(commits=10, directory=tmp_path)
    assert ratio.value == last.value / first.value
    assert (ratio.bar, ratio.at_most) == (1.5, True)
    assert expiry.value > 0
    assert list(tmp_path.iterdir()) == []


def test_values_are_equally_long_distinct_and_reproducible() -> None:
    values = list(texts(100, 5_000))
    assert {len(value) for value in values} == {100}
    assert len(set(values)) == 5_000
    assert values[:10] == list(texts(100, 10))


def _table(folder: Path, shares: list[int]) -> Path:
    """Return a table in which each partition has that many values of four bytes."""
    catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=folder.as_uri())
    catalog.create_namespace("n")
    rows = [(number, offset) for number, share in enumerate(shares) for offset in range(share)]
    columns = pa.table(
        {
            "partition": pa.array([number for number, _ in rows], pa.int32()),
            "offset": pa.array([offset for _, offset in rows], pa.int64()),
            "value": pa.array([b"four"] * len(rows)),
        }
    )
    table = catalog.create_table("n.t", columns.schema, location=f"{folder.as_uri()}/t")
    table.append(columns)
    catalog.close()
    return folder / "t"


def test_table_with_a_missing_row_is_detected(tmp_path: Path) -> None:
    records = 10 * PARTITIONS + 1
    right = [11] + [10] * (PARTITIONS - 1)
    table = _table(tmp_path, right)
    counting.check(table, records, size=4)
    with pytest.raises(counting.TableWrong, match="it should have"):
        counting.check(table, records + 1, size=4)
    with pytest.raises(counting.TableWrong):
        counting.check(table, records, size=5)


def test_failed_job_process_is_reported_with_its_last_output(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('the last output')"]
    with (
        pytest.raises(job_process.JobFailed, match="the last output"),
        job_process.running(command, tmp_path / "log"),
    ):
        pytest.fail("it has ended")


def test_job_process_that_is_not_ready_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('no')"]
    with (
        pytest.raises(job_process.JobFailed, match="'no' instead of being ready"),
        job_process.running(command, tmp_path / "log"),
    ):
        pytest.fail("it was not ready")


def test_job_process_ends_with_its_input(tmp_path: Path) -> None:
    with job_process.running([sys.executable, "-c", SPEAKS], tmp_path / "log") as job:
        assert job.pid > 0
    assert not Path(f"/proc/{job.pid}").exists()


def test_too_small_disk_is_reported_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(DiskTooSmall, match="TMPDIR"):
        Run(Scale(1, 0, 10**15, 0), tmp_path, [DRAY], lambda _: None).outcome()
