"""`dray demo`: the tour completes and cleans up, and fails if results differ."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dray.cli.commands.demo import demo_settings, how_to_continue
from dray.cli.failure import Failure
from dray.cli.tour import records as tour_records
from dray.cli.tour.records import Row, difference
from dray.cli.tour.tour import Tour, compare
from dray.settings import DraySettings
from tests.cli.in_process_compaction import _compact as compact_async
from tests.cli.invoking import invoke
from tests.oracle.cache import CACHE


async def compact_without_spark(settings: DraySettings, _: Callable[[str], None]) -> None:
    report = await compact_async(settings, tour_records.TOPIC)
    assert report.failures == []


def row(offset: int, value: bytes = b"v") -> Row:
    return Row(0, offset, 0, b"k", value, (("h", None),))


async def test_tour_completes_all_steps(tmp_path: Path) -> None:
    printed: list[str] = []
    assert await Tour(demo_settings(tmp_path), 200, compact_without_spark, printed.append).run()
    steps = [line.strip() for line in printed if re.match(r"\n?\d\. ", line)]
    assert steps[1] == "2. Stream: 200 records produced to the topic 'orders' and read back through Kafka"
    assert steps[3] == "4. Table: 200 rows of the same topic, read by PyIceberg"
    assert steps[4] == "5. SQL: 205 rows by 'dray sql', 5 of them produced after the compaction"
    assert steps[-1] == "7. Kafka, the table and SQL agree on every record"
    places = [line.split() for line in printed if "Parquet files" in line]
    assert places[0][0] == "3"
    # The data can still be queried, without a broker.
    query = ("sql", "SELECT count(*) AS n FROM orders", "--json", f"--data-dir={tmp_path}")
    counted = await asyncio.to_thread(invoke, *query)
    assert counted.lines == ['{"n":205}']


def lose_files(folder: Path) -> None:
    for file in folder.rglob("*.parquet"):
        file.unlink()


async def test_missing_table_rows_fail_the_tour(tmp_path: Path) -> None:
    async def lossy(settings: DraySettings, echo: Callable[[str], None]) -> None:
        await compact_without_spark(settings, echo)
        await asyncio.to_thread(lose_files, tmp_path)

    with pytest.raises(Failure):
        await Tour(demo_settings(tmp_path), 50, lossy, lambda _: None).run()


def test_differences_are_reported() -> None:
    before = [row(0), row(1)]
    stream = [*before, *(row(2 + number) for number in range(tour_records.HOT))]
    compare(before, stream, before, stream)
    with pytest.raises(Failure, match="the table differs from the stream: expected 2 rows, found 1"):
        compare(before, stream, before[:1], stream)
    with pytest.raises(Failure, match=r"SQL differs .*expected .*, found .*changed"):
        compare(before, stream, before, [row(0, b"changed"), *stream[1:]])
    with pytest.raises(Failure, match="the stream after compaction differs"):
        compare(before, stream[1:], before, stream[1:])
    assert difference([row(0)], [row(0), row(0)]) == "expected 1 rows, found 2"


def test_environment_settings_do_not_redirect_the_tour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAY_STORAGE_URL", "s3://real")
    monkeypatch.setenv("DRAY_METADATA_URL", "sqlite:/real")
    settings = demo_settings(tmp_path)
    assert settings.storage.url == f"file:{tmp_path}/objects"
    assert settings.metadata.url == f"sqlite:{tmp_path}/metadata.sqlite"
    assert settings.tables.catalog == f"sqlite:{tmp_path}/tables.sqlite"


def test_orders_are_distinct() -> None:
    made = list(tour_records.orders(0, 500, 1_000_000))
    assert len({draft.value for draft in made}) == 500
    assert made[-1].timestamp_ms == 1_000_000
    assert made[0].headers == (("source", b"demo"), ("trace", b"00000000"))


def test_keep_prints_how_to_continue(tmp_path: Path) -> None:
    lines = how_to_continue(tmp_path).splitlines()
    assert lines[2:] == [
        f"  dray up --data-dir {tmp_path}",
        f"  dray sql 'FROM orders LIMIT 5' --data-dir {tmp_path}",
        f"  dray tables describe orders --data-dir {tmp_path}",
    ]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.real("java", "spark")
def test_demo_command_with_real_spark(tmp_path: Path) -> None:
    env = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "XDG_CACHE_HOME": str(CACHE),
    }
    java = {name: value for name, value in os.environ.items() if name in ("JAVA_HOME", "PATH")}
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "dray", "demo", "--records", "500"],
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
        env=env | java,
    )
    assert ran.returncode == 0, ran.stderr
    assert "7. Kafka, the table and SQL agree on every record" in ran.stdout
    assert "3 of 3 files" in ran.stdout
    assert list(tmp_path.glob("dray-demo-*")) == []
