"""Rebuild of a dropped table from the index, which references every file of the topic.

A record in the metadata store marks the rebuild as started and stays until the last file is added, so that a
later compactor never takes a partly filled table for a complete one. Files are added a few hundred per
commit. Before each commit the missing files are determined from the table, and the commit carries the
record's id and number: a commit with an unknown outcome is not repeated, and a rebuild can be resumed after
a crash at any point.

Files that a job has added to the old table and not yet to the index are added too, in place of the files that
they replace. Rows written only by other engines are lost with the old table, and rows they deleted reappear.

After a restore of the metadata, the table may be ahead of the index: it references files of jobs that the
index no longer knows, whose offsets the log assigns again. The same procedure then also removes those files,
in the same commits. A job that had written its files is aborted first, and its range is planned again. Files
of other engines are left alone.
"""

from collections.abc import Container, Sequence
from typing import Final

import msgspec

from dray.cluster.topics import Topic
from dray.compaction.deps import CompactionDeps
from dray.compaction.ensure_table import make_table
from dray.compaction.job_store import JobLost
from dray.compaction.metrics import CompactionMetrics
from dray.compaction.topic_tables import data_file, table_of
from dray.formats.parquet_v1 import CorruptParquet
from dray.index import FileRef, JobState, ParquetEntry, parse_file_path
from dray.index.table_records import Rebuild, decode_rebuild, encode_table_record
from dray.keyspace import CLUSTER_DOMAIN, rebuild_key
from dray.meta.port import ABSENT, Check, Conflict, Delete, Put, Version
from dray.objects.port import NotFound
from dray.observe import get_logger
from dray.tables.port import (
    Committed,
    DataFile,
    Job,
    TableAltered,
    TableMissing,
    TableState,
    TopicTable,
)

FILES_AT_ONCE: Final = 200
_log = get_logger("maintenance")


_Wanted = dict[str, tuple[int, FileRef | ParquetEntry]]
"""Partition and file, by path."""


class Rebuilder:
    """Rebuilds dropped tables; the caller holds the topic's lease."""

    def __init__(self, deps: CompactionDeps, metrics: CompactionMetrics) -> None:
        self._deps = deps
        self._metrics = metrics
        self._index = deps.index

    async def run(self, topic: Topic, listed: Container[TopicTable] | None) -> int:
        """Rebuild the topic's table if it was dropped, or resume its rebuild; returns how many were added.

        `listed` are the tables of the catalog, or None if it could not be read.
        """
        table = table_of(topic.ref)
        begun = await self._load(topic)
        if begun is None:
            if listed is None or table in listed or not await self._was_dropped(topic, table):
                return 0
            _log.warning("table_dropped", topic=topic.name, remedy="it is rebuilt from the offset index")
            begun = await self._put(topic, Rebuild(self._deps.entropy.token(16).hex()), ABSENT)
        elif begun[0].after_restore:
            await self._abort_written(topic)
            if not await self._has_work(topic, table):
                await self._forget(topic, begun[1])
                return 0
        await make_table(self._deps, topic)
        return await self._fill(topic, table, *begun)

    async def _was_dropped(self, topic: Topic, table: TopicTable) -> bool:
        """Return whether a table should exist and does not; a topic without files needs none."""
        jobs = [await self._deps.jobs.load(stream) for stream in topic.streams]
        written = any(one is not None and one.job.state is JobState.WRITTEN for one in jobs)
        if not written and not await self._wanted(topic):
            return False
        try:
            await self._deps.tables.check(table)
        except TableMissing:
            return True
        except TableAltered:
            return False  # the round reports it
        return False

    async def _abort_written(self, topic: Topic) -> None:
        """Abort jobs whose files may be in the table: after later commits the table does not show it."""
        for stream in topic.streams:
            stored = await self._deps.jobs.load(stream)
            if stored is not None and stored.job.state is JobState.WRITTEN:
                job = msgspec.structs.replace(
                    stored.job, changed_at_ms=self._deps.clock.now_ms(), key_compaction_after=None
                )
                await self._deps.jobs.abort(stored, job, "the metadata was restored from a backup")

    async def _has_work(self, topic: Topic, table: TopicTable) -> bool:
        """Return whether there is a table, or there should be one.

        Raises `TableAltered`: until that is undone, the table cannot be rebuilt, and the round must not run.
        """
        try:
            await self._deps.tables.check(table)
        except TableMissing:
            return bool(await self._wanted(topic))
        return True

    async def _fill(self, topic: Topic, table: TopicTable, begun: Rebuild, version: Version) -> int:
        lost: set[str] = set()
        added = 0
        while True:
            state = await self._deps.tables.current(table)
            present = {file.path for file in state.files}
            wanted = await self._wanted(topic)  # read after the table: files merged by then are not missing
            missing = {path: one for path, one in wanted.items() if path not in present and path not in lost}
            unknown = _unknown(state, topic, wanted) if begun.after_restore else []
            if not missing and not unknown:
                break
            files = await self._described(topic, missing, lost)
            if files or unknown:
                job = Job(f"{begun.rebuild_id}-{begun.number}", _marks(files))
                done = await self._commit(table, unknown, files, job, state.snapshot_id)
                added += 0 if done.repeated else len(files)
                if unknown:
                    _log.warning("table_rolled_back", topic=topic.name, files=len(unknown))
            next_one = msgspec.structs.replace(begun, number=begun.number + 1)
            begun, version = await self._put(topic, next_one, version)
        await self._forget(topic, version)
        self._metrics.tables.rebuilt_files.inc(added)
        _log.info("table_rebuilt", topic=topic.name, files=added)
        return added

    async def _commit(
        self,
        table: TopicTable,
        removed: Sequence[str],
        added: Sequence[DataFile],
        job: Job,
        snapshot_id: int | None,
    ) -> Committed:
        if removed:
            return await self._deps.tables.replace(table, removed, added, job, snapshot_id)
        return await self._deps.tables.append(table, added, job, snapshot_id)

    async def _described(self, topic: Topic, missing: _Wanted, lost: set[str]) -> list[DataFile]:
        """Describe the next files; a damaged one is left out, and reported by the audit of its topic."""
        files: list[DataFile] = []
        for path, (partition, file) in list(missing.items())[:FILES_AT_ONCE]:
            try:
                files.append(await data_file(self._deps.objects, partition, file))
            except (NotFound, CorruptParquet) as error:
                lost.add(path)
                _log.error("file_unreadable", topic=topic.name, path=path, error=str(error))
        return files

    async def _wanted(self, topic: Topic) -> _Wanted:
        """Return the files that the table should reference."""
        jobs = [await self._deps.jobs.load(stream) for stream in topic.streams]
        published = [one.job for one in jobs if one is not None and one.job.state is JobState.PUBLISHED]
        wanted: _Wanted = {
            file.entry.path: (file.partition, file.entry) async for file in self._index.of_topic(topic)
        }
        for job in published:
            for old in job.replaced:
                wanted.pop(old.path, None)
            wanted |= {file.path: (job.partition, file) for file in job.files}
        return {path: one for path, one in wanted.items() if one[1].record_count}

    async def _forget(self, topic: Topic, version: Version) -> None:
        key = rebuild_key(topic.topic_id)
        await self._deps.meta.commit(CLUSTER_DOMAIN, [Check(key, version)], [Delete(key)])

    async def _load(self, topic: Topic) -> tuple[Rebuild, Version] | None:
        key = rebuild_key(topic.topic_id)
        stored = await self._deps.meta.get(CLUSTER_DOMAIN, key)
        if stored is None:
            return None
        return decode_rebuild(key, stored.value), stored.version

    async def _put(self, topic: Topic, rebuild: Rebuild, version: Version) -> tuple[Rebuild, Version]:
        key = rebuild_key(topic.topic_id)
        put = await self._deps.meta.commit(
            CLUSTER_DOMAIN, [Check(key, version)], [Put(key, encode_table_record(rebuild))]
        )
        if isinstance(put, Conflict):
            raise JobLost(f"the table of {topic.name} is being rebuilt by another compactor")
        return rebuild, put.of[0]


def _marks(files: Sequence[DataFile]) -> dict[int, int]:
    return {file.partition: file.last_offset + 1 for file in files}


def _unknown(state: TableState, topic: Topic, wanted: Container[str]) -> list[str]:
    """Return our files in the table that the index does not know."""
    return [file.path for file in state.files if file.path not in wanted and _is_ours(file.path, topic)]


def _is_ours(path: str, topic: Topic) -> bool:
    parsed = parse_file_path(path)
    return parsed is not None and parsed[0] in topic.streams
