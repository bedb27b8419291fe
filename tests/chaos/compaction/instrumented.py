"""Compactor with failpoints: `python -m tests.chaos.compaction.instrumented ARMED compactor …`.

The ports are wrapped from outside: commits are classified by the keys they write, table commits by what they
add. ARMED is the path of the file that arms a trigger.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dray.cli.main import main as dray
from dray.compaction.engine import TaskFailure
from dray.compaction.tasks import Task, TaskOutput
from dray.ids import Domain, MetaDomain, StreamId
from dray.index import JobState, decode_job
from dray.keyspace import file_gc_range, job_key, stream_of_head_key
from dray.meta.port import Check, Conflict, Put, Versions, Write
from dray.meta.sqlite import SqliteMetaStore
from dray.objects.metered import Metered
from dray.scan.access import StorageAccess
from dray.spark.engine import SparkEngine
from dray.spark.job_monitor import OnProgress
from dray.tables.iceberg import IcebergTables
from dray.tables.names import metadata_folder, table_folder
from dray.tables.port import Committed, DataFile, Expired, TopicTable
from tests.chaos.compaction.failpoints import Failpoints
from tests.chaos.compaction.points import Kind
from tests.chaos.producers import TOPIC

_JOBS = job_key(StreamId(0)).rpartition("/")[0]
_GC_MARKERS = file_gc_range(MetaDomain(0))[0].rpartition("/")[0].rpartition("/")[0]


def _quiet(done: int, of: int) -> None: ...


class CommitKinds:
    """Classifies commits and remembers the kind of the current job, which Spark's tasks do not state."""

    def __init__(self) -> None:
        self.last: Kind = "wal"

    def of(self, writes: Sequence[Write]) -> str:
        """Return what a commit does, as named in `points`, or an empty string if it has no failpoint."""
        puts = [write for write in writes if isinstance(write, Put)]
        for put in puts:
            if put.key.startswith(_JOBS):
                return self._of_job(put, alone=len(writes) == 1)
        if any(put.key.startswith(_GC_MARKERS) for put in puts):
            return "release"
        if any(stream_of_head_key(put.key) is not None for put in puts):
            return "snapshot"
        return ""

    def _of_job(self, put: Put, *, alone: bool) -> str:
        job = decode_job(put.key, put.value)
        self.last = "merge" if job.replaced else "wal"
        if job.state is JobState.DONE:
            return "" if alone else f"swap {self.last}"
        return f"{job.state} {self.last}"


def instrument_commits(failpoints: Failpoints, kinds: CommitKinds) -> None:
    plain = SqliteMetaStore.commit

    async def commit(
        self: SqliteMetaStore, domain: Domain, checks: Sequence[Check], writes: Sequence[Write]
    ) -> Versions | Conflict:
        what = kinds.of(writes)
        if not what:
            return await plain(self, domain, checks, writes)
        with failpoints.around(what):
            return await plain(self, domain, checks, writes)

    SqliteMetaStore.commit = commit  # type: ignore[method-assign]  # the point of it


def instrument_tables(failpoints: Failpoints) -> None:
    plain_append, plain_replace, plain_expire = (
        IcebergTables.append,
        IcebergTables.replace,
        IcebergTables.expire,
    )

    async def append(self: IcebergTables, table: TopicTable, *rest: Any, **named: Any) -> Committed:
        with failpoints.around("table wal"):
            return await plain_append(self, table, *rest, **named)

    async def replace(
        self: IcebergTables,
        table: TopicTable,
        removed: Sequence[str],
        added: Sequence[DataFile],
        *rest: Any,
        **named: Any,
    ) -> Committed:
        with failpoints.around("table merge" if added else "detach"):
            return await plain_replace(self, table, removed, added, *rest, **named)

    async def expire(self: IcebergTables, table: TopicTable, older_than_ms: int) -> Expired:
        with failpoints.around("expire"):
            return await plain_expire(self, table, older_than_ms)

    IcebergTables.append = append  # type: ignore[method-assign]  # the point of it
    IcebergTables.replace = replace  # type: ignore[method-assign]
    IcebergTables.expire = expire  # type: ignore[method-assign]


def instrument_deletes(failpoints: Failpoints) -> None:
    plain = Metered.delete

    async def delete(self: Metered, path: str) -> None:
        if not path.startswith(metadata_folder(table_folder(TOPIC))):
            return await plain(self, path)
        with failpoints.around("purge"):
            return await plain(self, path)

    Metered.delete = delete  # type: ignore[method-assign]  # the point of it


def instrument_spark(failpoints: Failpoints, kinds: CommitKinds) -> None:
    plain = SparkEngine.run_tasks

    async def run_tasks(
        self: SparkEngine, tasks: Sequence[Task], storage: StorageAccess, on_progress: OnProgress = _quiet
    ) -> list[TaskOutput | TaskFailure]:
        with failpoints.around(f"spark {kinds.last}"):
            return await plain(self, tasks, storage, on_progress)

    SparkEngine.run_tasks = run_tasks  # type: ignore[method-assign]  # the point of it


def run() -> None:
    """Run the command in `sys.argv`, which follows the path of the arming file."""
    failpoints, kinds = Failpoints(Path(sys.argv.pop(1))), CommitKinds()
    instrument_commits(failpoints, kinds)
    instrument_tables(failpoints)
    instrument_deletes(failpoints)
    instrument_spark(failpoints, kinds)
    dray()


if __name__ == "__main__":
    run()
