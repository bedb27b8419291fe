"""A `dray` whose compactor strikes at a point: `python -m tests.chaos.compaction.doomed ORDER compactor …`.

The ports are wrapped from outside: commits are known by the keys they write, table commits by what they add.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dray.cli.main import main as dray
from dray.ids import MetaDomain, StreamId
from dray.index import JobState, decode_job, file_gc_range, job_key, stream_of_head_key
from dray.meta.port import Check, Conflict, Domain, Put, Versions, Write
from dray.meta.sqlite import SqliteMetaStore
from dray.objects.metered import Metered
from dray.pipeline.blocking import StorageAccess
from dray.pipeline.engine import TaskFailed
from dray.pipeline.spark.job import SparkEngine
from dray.pipeline.spark.watching import Note
from dray.pipeline.work import Answer, Task
from dray.tables.iceberg import IcebergTables
from dray.tables.names import metadata_folder, table_folder
from dray.tables.port import Committed, DataFile, Expired, TopicTable
from tests.chaos.compaction.doom import Doom
from tests.chaos.compaction.points import Kind
from tests.chaos.producers import TOPIC

_JOBS = job_key(StreamId(0)).rpartition("/")[0]
_MARKS = file_gc_range(MetaDomain(0))[0].rpartition("/")[0].rpartition("/")[0]


def _quiet(done: int, of: int) -> None: ...


class Kinds:
    """Of which kind the present job is; what Spark does has no name of its own."""

    def __init__(self) -> None:
        self.last: Kind = "wal"

    def of(self, writes: Sequence[Write]) -> str:
        """Say what a commit does, in the words of `points`; empty if it is none of them."""
        puts = [write for write in writes if isinstance(write, Put)]
        for put in puts:
            if put.key.startswith(_JOBS):
                return self._of_job(put, alone=len(writes) == 1)
        if any(put.key.startswith(_MARKS) for put in puts):
            return "let go"
        if any(stream_of_head_key(put.key) is not None for put in puts):
            return "snapshot"
        return ""

    def _of_job(self, put: Put, *, alone: bool) -> str:
        job = decode_job(put.key, put.value)
        self.last = "merge" if job.replaced else "wal"
        if job.state is JobState.DONE:
            return "" if alone else f"swap {self.last}"
        return f"{job.state} {self.last}"


def aim_at_commits(doom: Doom, kinds: Kinds) -> None:
    plain = SqliteMetaStore.commit

    async def commit(
        self: SqliteMetaStore, domain: Domain, checks: Sequence[Check], writes: Sequence[Write]
    ) -> Versions | Conflict:
        what = kinds.of(writes)
        if not what:
            return await plain(self, domain, checks, writes)
        with doom.around(what):
            return await plain(self, domain, checks, writes)

    SqliteMetaStore.commit = commit  # type: ignore[method-assign]  # the point of it


def aim_at_tables(doom: Doom) -> None:
    plain_append, plain_replace, plain_expire = (
        IcebergTables.append,
        IcebergTables.replace,
        IcebergTables.expire,
    )

    async def append(self: IcebergTables, table: TopicTable, *rest: Any, **named: Any) -> Committed:
        with doom.around("table wal"):
            return await plain_append(self, table, *rest, **named)

    async def replace(
        self: IcebergTables,
        table: TopicTable,
        removed: Sequence[str],
        added: Sequence[DataFile],
        *rest: Any,
        **named: Any,
    ) -> Committed:
        with doom.around("table merge" if added else "detach"):
            return await plain_replace(self, table, removed, added, *rest, **named)

    async def expire(self: IcebergTables, table: TopicTable, older_than_ms: int) -> Expired:
        with doom.around("expire"):
            return await plain_expire(self, table, older_than_ms)

    IcebergTables.append = append  # type: ignore[method-assign]  # the point of it
    IcebergTables.replace = replace  # type: ignore[method-assign]
    IcebergTables.expire = expire  # type: ignore[method-assign]


def aim_at_deletes(doom: Doom) -> None:
    plain = Metered.delete

    async def delete(self: Metered, path: str) -> None:
        if not path.startswith(metadata_folder(table_folder(TOPIC))):
            return await plain(self, path)
        with doom.around("tidy"):
            return await plain(self, path)

    Metered.delete = delete  # type: ignore[method-assign]  # the point of it


def aim_at_spark(doom: Doom, kinds: Kinds) -> None:
    plain = SparkEngine.perform

    async def perform(
        self: SparkEngine, tasks: Sequence[Task], storage: StorageAccess, note: Note = _quiet
    ) -> list[Answer | TaskFailed]:
        with doom.around(f"spark {kinds.last}"):
            return await plain(self, tasks, storage, note)

    SparkEngine.perform = perform  # type: ignore[method-assign]  # the point of it


def run() -> None:
    """Run the command of this process, behind the name of the file with the order."""
    doom, kinds = Doom(Path(sys.argv.pop(1))), Kinds()
    aim_at_commits(doom, kinds)
    aim_at_tables(doom)
    aim_at_deletes(doom)
    aim_at_spark(doom, kinds)
    dray()


if __name__ == "__main__":
    run()
