"""`dray demo`: the tour ends well, says so and leaves nothing behind; it fails when something differs."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dray.cli import demo_orders
from dray.cli.demo import demo_settings, how_to_go_on
from dray.cli.demo_rows import Row, difference
from dray.cli.demo_tour import Tour, compare
from dray.cli.failure import Failure
from dray.cli.settings import DraySettings
from tests.cli.calling import call
from tests.cli.compaction_here import _compact as compact_async
from tests.oracle.cache import CACHE


async def compact_here(settings: DraySettings, _: Callable[[str], None]) -> None:
    report = await compact_async(settings, demo_orders.TOPIC)
    assert report.failures == []


def row(offset: int, value: bytes = b"v") -> Row:
    return Row(0, offset, 0, b"k", value, (("h", None),))


async def test_the_tour(tmp_path: Path) -> None:
    told: list[str] = []
    assert await Tour(demo_settings(tmp_path), 200, compact_here, told.append).run()
    steps = [line.strip() for line in told if re.match(r"\n?\d\. ", line)]
    assert steps[1] == "2. A stream: 200 records sent to the topic 'orders', and read through Kafka"
    assert steps[3] == "4. A table: 200 rows of the same topic, read by PyIceberg"
    assert steps[4] == "5. SQL: 205 rows by 'dray sql', 5 of them produced after the compaction"
    assert steps[-1] == "7. Kafka, the table and SQL agree, record by record"
    places = [line.split() for line in told if "Parquet files" in line]
    assert places[0][0] == "3"
    # What was kept can be asked again without a broker.
    query = ("sql", "SELECT count(*) AS n FROM orders", "--json", f"--data-dir={tmp_path}")
    counted = await asyncio.to_thread(call, *query)
    assert counted.lines == ['{"n":205}']


def lose_files(folder: Path) -> None:
    for file in folder.rglob("*.parquet"):
        file.unlink()


async def test_a_table_that_lacks_rows_fails_the_tour(tmp_path: Path) -> None:
    async def lazy(settings: DraySettings, tell: Callable[[str], None]) -> None:
        await compact_here(settings, tell)
        await asyncio.to_thread(lose_files, tmp_path)

    with pytest.raises(Failure):
        await Tour(demo_settings(tmp_path), 50, lazy, lambda _: None).run()


def test_what_differs_is_told() -> None:
    before = [row(0), row(1)]
    stream = [*before, *(row(2 + number) for number in range(demo_orders.HOT))]
    compare(before, stream, before, stream)
    with pytest.raises(
        Failure, match="the table differs from the stream: 2 rows are expected, and 1 are found"
    ):
        compare(before, stream, before[:1], stream)
    with pytest.raises(Failure, match=r"SQL differs .* is expected, and .*changed.* is found"):
        compare(before, stream, before, [row(0, b"changed"), *stream[1:]])
    with pytest.raises(Failure, match="the stream after compaction differs"):
        compare(before, stream[1:], before, stream[1:])
    assert difference([row(0)], [row(0), row(0)]) == "1 rows are expected, and 2 are found"


def test_no_setting_of_the_machine_leads_the_tour_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAY_STORAGE_URL", "s3://real")
    monkeypatch.setenv("DRAY_METADATA_URL", "sqlite:/real")
    settings = demo_settings(tmp_path)
    assert settings.storage.url == f"file:{tmp_path}/objects"
    assert settings.metadata.url == f"sqlite:{tmp_path}/metadata.sqlite"
    assert settings.tables.catalog == f"sqlite:{tmp_path}/tables.sqlite"


def test_orders_are_all_different() -> None:
    made = list(demo_orders.orders(0, 500, 1_000_000))
    assert len({draft.value for draft in made}) == 500
    assert made[-1].timestamp_ms == 1_000_000
    assert made[0].headers == (("source", b"demo"), ("trace", b"00000000"))


def test_how_to_go_on(tmp_path: Path) -> None:
    lines = how_to_go_on(tmp_path).splitlines()
    assert lines[2:] == [
        f"  dray up --data-dir {tmp_path}",
        f"  dray sql 'FROM orders LIMIT 5' --data-dir {tmp_path}",
        f"  dray tables describe orders --data-dir {tmp_path}",
    ]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.real("java", "spark")
def test_the_command_with_a_real_spark(tmp_path: Path) -> None:
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
    assert "7. Kafka, the table and SQL agree, record by record" in ran.stdout
    assert "3 of 3 files" in ran.stdout
    assert list(tmp_path.glob("dray-demo-*")) == []
