"""Cost of a commit to a topic's table, after fifty commits and after five hundred.

Bar: the median of the last 50 appends is at most 1.5 times that of the first 50, with the snapshot expiry
that a compactor runs between them. In production there is a commit every fifteen seconds and snapshots are
kept for ten minutes, some forty commits; here commits follow each other immediately, so the clock is set such
that forty of them span ten minutes. SQLite catalog, metadata in a directory, one small file per commit.

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

from benchmarks.figures import Figure, environment
from dray.compaction.metrics import CompactionMetrics
from dray.compaction.settings import CompactionSettings
from dray.formats import parquet_v1
from dray.maintenance.snapshot_expiry import SnapshotExpiry
from dray.objects.local import LocalObjects
from dray.observe import Metrics
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
    expiry: Sequence[float]


def run(*, commits: int = 500, directory: Path | None = None) -> list[Figure]:
    """Measure `commits` commits, with files under `directory`."""
    with tempfile.TemporaryDirectory(dir=directory, prefix="dray-table-") as name:
        took = asyncio.run(_measure(Path(name), commits))
    some = max(1, min(50, commits // 2))
    first, last = median(took.commits[:some]), median(took.commits[-some:])
    what = f"commits to a table, {commits} appends"
    return [
        Figure(f"{what}, first {some}, median", first * 1000, "ms"),
        Figure(f"{what}, last {some}, median", last * 1000, "ms"),
        Figure(f"{what}, last beside first", last / first, "times", 1.5, at_most=True),
        Figure(f"{what}, snapshot expiry a commit", sum(took.expiry) / commits * 1000, "ms"),
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
    expiry_took: list[float] = []
    clock = _FastClock()
    settings = CompactionSettings()
    expiry = SnapshotExpiry(tables, objects, clock, settings, metrics)
    expiry.set_listing(await tables.listing())
    for number in range(commits):
        file = _file(number)
        began = time.perf_counter()
        await tables.append(_TABLE, [file], Job(f"job-{number}", {0: file.last_offset + 1}))
        committed = time.perf_counter()
        clock.note_commit(settings.snapshot_age_ms_max)
        await expiry.after_commits(_TABLE, 1)
        took.append(committed - began)
        expiry_took.append(time.perf_counter() - committed)
    return _Took(took, expiry_took)


class _FastClock(SystemClock):
    """A clock by which all but the snapshots of the last commits have expired."""

    def __init__(self) -> None:
        self._now_ms = 0
        self._committed_ms: deque[int] = deque(maxlen=_KEPT)

    def note_commit(self, age_ms: int) -> None:
        self._committed_ms.append(super().now_ms())
        self._now_ms = self._committed_ms[0] + age_ms

    def now_ms(self) -> int:
        return self._now_ms


def _file(number: int) -> DataFile:
    """Return a file whose footer is real; a commit never opens the file itself."""
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
    for line in [*environment(), *(figure.line() for figure in run(directory=Path.cwd()))]:
        print(line)


if __name__ == "__main__":
    main()
