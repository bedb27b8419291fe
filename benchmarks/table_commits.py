"""Whether a commit to a topic's table costs the same after five hundred as after fifty.

Bar: the median of the last 50 appends is at most 1.5 times that of the first 50, with the upkeep that a
compactor does between them. In life a commit comes every fifteen seconds and snapshots are kept for ten
minutes, some forty commits; here commits come as fast as they can, so the clock is set for forty of them to
be ten minutes. A catalogue in SQLite, metadata in a directory, one small file a commit.

Run it with `python -m benchmarks table`.
"""

import asyncio
import io
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pyarrow as pa

from benchmarks.figures import Figure, surroundings
from dray.formats import parquet_v1
from dray.objects.local import LocalObjects
from dray.observe import Metrics
from dray.pipeline.care.upkeep import Upkeep
from dray.pipeline.metrics import CompactionMetrics
from dray.pipeline.settings import CompactionSettings
from dray.runtime import SystemClock, SystemEntropy
from dray.tables.iceberg import IcebergSettings, IcebergTables, SqlCatalogSettings
from dray.tables.names import table_folder
from dray.tables.port import DataFile, Job, TopicTable

_TABLE = TopicTable("commits", "00" * 16)
_KEPT = 40
_RECORDS = 5
_NOW_US = 1_790_000_000_000_000


@dataclass(frozen=True, slots=True)
class _Took:
    commits: Sequence[float]
    upkeep: Sequence[float]


def run(*, commits: int = 500, directory: Path | None = None) -> list[Figure]:
    """Measure so many commits, with files under `directory`."""
    with tempfile.TemporaryDirectory(dir=directory, prefix="dray-table-") as name:
        took = asyncio.run(_measure(Path(name), commits))
    some = max(1, min(50, commits // 2))
    first, last = median(took.commits[:some]), median(took.commits[-some:])
    what = f"commits to a table, {commits} appends"
    return [
        Figure(f"{what}, first {some}, median", first * 1000, "ms"),
        Figure(f"{what}, last {some}, median", last * 1000, "ms"),
        Figure(f"{what}, last beside first", last / first, "times", 1.5, at_most=True),
        Figure(f"{what}, upkeep a commit", sum(took.upkeep) / commits * 1000, "ms"),
    ]


async def _measure(folder: Path, commits: int) -> _Took:
    root = folder / "objects"
    root.mkdir()
    catalog = SqlCatalogSettings(path=str(folder / "catalog.db"))
    settings = IcebergSettings(catalog=catalog, root=root.as_uri(), cluster_id="benchmark")
    tables, objects = IcebergTables(settings, SystemClock(), SystemEntropy()), await LocalObjects.open(root)
    try:
        return await _commit_all(tables, objects, commits)
    finally:
        await tables.close()
        await objects.close()


async def _commit_all(tables: IcebergTables, objects: LocalObjects, commits: int) -> _Took:
    await tables.create_if_missing(_TABLE, table_folder(_TABLE.topic))
    metrics = CompactionMetrics.on(Metrics())
    took: list[float] = []
    upkeep_took: list[float] = []
    clock = _Hurried()
    settings = CompactionSettings()
    upkeep = Upkeep(tables, objects, clock, settings, metrics)
    upkeep.see(await tables.listing())
    for number in range(commits):
        file = _file(number)
        began = time.perf_counter()
        await tables.append(_TABLE, [file], Job(f"job-{number}", {0: file.last_offset + 1}))
        committed = time.perf_counter()
        clock.note_commit(settings.snapshot_age_ms_max)
        await upkeep.after_commits(_TABLE, 1)
        took.append(committed - began)
        upkeep_took.append(time.perf_counter() - committed)
    return _Took(took, upkeep_took)


class _Hurried(SystemClock):
    """Tells the time at which just the snapshots of the last commits are young enough to be kept."""

    def __init__(self) -> None:
        self._now_ms = 0
        self._committed_ms: deque[int] = deque(maxlen=_KEPT)

    def note_commit(self, age_ms: int) -> None:
        self._committed_ms.append(super().now_ms())
        self._now_ms = self._committed_ms[0] + age_ms

    def now_ms(self) -> int:
        return self._now_ms


def _file(number: int) -> DataFile:
    """A file's footer is all that a commit wants; the file itself need not be there."""
    first = number * _RECORDS
    rows = [
        {"partition": 0, "offset": offset, "timestamp": _NOW_US + offset, "headers": [], "attributes": 0}
        for offset in range(first, first + _RECORDS)
    ]
    output = io.BytesIO()
    writer = parquet_v1.FileWriter(output)
    writer.write(pa.RecordBatch.from_pylist(rows, parquet_v1.SCHEMA))
    written = writer.close()
    path = f"compaction/v1/topic=commits/partition=0/{number:06}.parquet"
    return DataFile(path, written.size_bytes, _RECORDS, 0, first, first + _RECORDS - 1, written.tail)


def main() -> None:
    for line in [*surroundings(), *(figure.line() for figure in run(directory=Path.cwd()))]:
        print(line)


if __name__ == "__main__":
    main()
