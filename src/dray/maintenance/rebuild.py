"""Rebuild of a dropped table from the index, which references every file of the topic.

A record in the metadata store marks the rebuild as started and stays until the last file is added, so that a
later compactor never takes a partly filled table for a complete one. Files are added a few hundred per
commit. Before each commit the missing files are determined from the table, and the commit carries the
record's id and number: a commit with an unknown outcome is not repeated, and a rebuild can be resumed after
a crash at any point.

Files that a job has added to the old table and not yet to the index are added too, in place of the files that
they replace. Rows written only by other engines are lost with the old table, and rows they deleted reappear.
"""

from collections.abc import Container
from typing import Final

import msgspec

from dray.cluster.topics import Topic
from dray.compaction.deps import CompactionDeps
from dray.compaction.ensure_table import make_table
from dray.compaction.job_store import JobLost
from dray.compaction.metrics import CompactionMetrics
from dray.compaction.topic_tables import data_file, table_of
from dray.formats.parquet_v1 import CorruptParquet
from dray.index import FileRef, JobState, ParquetEntry
from dray.index.stored import decoded
from dray.keyspace import CLUSTER_DOMAIN, rebuild_key
from dray.meta.port import ABSENT, Check, Conflict, Delete, Put, Version
from dray.objects.port import NotFound
from dray.observe import get_logger
from dray.tables.port import DataFile, Job, TableAltered, TableMissing, TopicTable

FILES_AT_ONCE: Final = 200
_log = get_logger("maintenance")


class Rebuild(msgspec.Struct, frozen=True, array_like=True, tag="b1"):
    """A table that is being rebuilt; `number` is that of the next commit."""

    rebuild_id: str
    number: int = 0


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Rebuild)
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

    async def _fill(self, topic: Topic, table: TopicTable, begun: Rebuild, version: Version) -> int:
        lost: set[str] = set()
        added = 0
        while True:
            state = await self._deps.tables.current(table)
            present = {file.path for file in state.files}
            wanted = await self._wanted(topic)  # read after the table: files merged by then are not missing
            missing = {path: one for path, one in wanted.items() if path not in present and path not in lost}
            if not missing:
                break
            files = await self._described(topic, missing, lost)
            if files:
                marks = {file.partition: file.last_offset + 1 for file in files}
                job = Job(f"{begun.rebuild_id}-{begun.number}", marks)
                done = await self._deps.tables.append(
                    table, files, job, expected_snapshot_id=state.snapshot_id
                )
                added += 0 if done.repeated else len(files)
            begun, version = await self._put(topic, Rebuild(begun.rebuild_id, begun.number + 1), version)
        await self._deps.meta.commit(
            CLUSTER_DOMAIN,
            [Check(rebuild_key(topic.topic_id), version)],
            [Delete(rebuild_key(topic.topic_id))],
        )
        self._metrics.tables.rebuilt_files.inc(added)
        _log.info("table_rebuilt", topic=topic.name, files=added)
        return added

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

    async def _load(self, topic: Topic) -> tuple[Rebuild, Version] | None:
        key = rebuild_key(topic.topic_id)
        stored = await self._deps.meta.get(CLUSTER_DOMAIN, key)
        if stored is None:
            return None
        return decoded(_decoder, key, stored.value, "a rebuild"), stored.version

    async def _put(self, topic: Topic, rebuild: Rebuild, version: Version) -> tuple[Rebuild, Version]:
        key = rebuild_key(topic.topic_id)
        put = await self._deps.meta.commit(
            CLUSTER_DOMAIN, [Check(key, version)], [Put(key, _encoder.encode(rebuild))]
        )
        if isinstance(put, Conflict):
            raise JobLost(f"the table of {topic.name} is being rebuilt by another compactor")
        return rebuild, put.of[0]
