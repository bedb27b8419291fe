"""Making a table again that somebody has dropped, from the index, which knows every file of the topic.

A record in the metadata store says that it has been begun, and it is there until the last file is in: a table
that has only some of them is not taken for a whole one by whoever comes next. Files go in a few hundred at
a time. Each time the table is asked what is missing, and the commit bears the record's id and number; so one
whose answer was lost is not done twice, and dying anywhere only means going on.

What a job has put into the old table and not yet into the index goes into the new one too, and not the files
that it stands for. Other engines' rows are gone with the old table, and what others had deleted is back.
"""

from collections.abc import Container
from typing import Final

import msgspec

from dray.cluster.keys import CLUSTER_DOMAIN
from dray.cluster.topics import Topic
from dray.formats.parquet_v1 import CorruptParquet
from dray.index import FilePlace, JobState, ParquetEntry
from dray.index.keys import ROOT
from dray.index.stored import decoded
from dray.meta.port import ABSENT, Check, Conflict, Delete, Put, Version
from dray.objects.port import NotFound
from dray.observe import get_logger
from dray.pipeline.first_table import make_table
from dray.pipeline.job_store import JobLost
from dray.pipeline.metrics import CompactionMetrics
from dray.pipeline.parts import CompactionParts
from dray.pipeline.topic_tables import data_file, table_of
from dray.tables.port import DataFile, Job, TableAltered, TableMissing, TopicTable

FILES_AT_ONCE: Final = 200
_log = get_logger("pipeline")


class Rebuild(msgspec.Struct, frozen=True, array_like=True, tag="b1"):
    """A table that is being made again; `number` is that of the commit that comes next."""

    rebuild_id: str
    number: int = 0


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Rebuild)
_Wanted = dict[str, tuple[int, FilePlace | ParquetEntry]]
"""Partition and file, by path."""


def rebuild_key(topic_id: bytes) -> str:
    return f"{ROOT}/compaction/rebuilds/{topic_id.hex()}"


class Rebuilder:
    """Makes dropped tables again; whoever calls it holds the topic's lease."""

    def __init__(self, parts: CompactionParts, metrics: CompactionMetrics) -> None:
        self._parts = parts
        self._metrics = metrics
        self._index = parts.index

    async def run(self, topic: Topic, listed: Container[TopicTable] | None) -> int:
        """Make the topic's table whole if it is gone, or was being made; returns how many files went in.

        `listed` are the tables that the catalogue has, or None when that is not known.
        """
        table = table_of(topic.ref)
        begun = await self._load(topic)
        if begun is None:
            if listed is None or table in listed or not await self._is_gone(topic, table):
                return 0
            _log.warning("table_dropped", topic=topic.name, remedy="it is made again from the offset index")
            begun = await self._put(topic, Rebuild(self._parts.entropy.token(16).hex()), ABSENT)
        await make_table(self._parts, topic)
        return await self._fill(topic, table, *begun)

    async def _is_gone(self, topic: Topic, table: TopicTable) -> bool:
        """Whether there was a table: a topic for which no file was ever written needs none."""
        jobs = [await self._parts.jobs.load(stream) for stream in topic.streams]
        written = any(one is not None and one.job.state is JobState.WRITTEN for one in jobs)
        if not written and not await self._wanted(topic):
            return False
        try:
            await self._parts.tables.check(table)
        except TableMissing:
            return True
        except TableAltered:
            return False  # that is for the round to tell
        return False

    async def _fill(self, topic: Topic, table: TopicTable, begun: Rebuild, version: Version) -> int:
        lost: set[str] = set()
        added = 0
        while True:
            state = await self._parts.tables.current(table)
            there = {file.path for file in state.files}
            wanted = await self._wanted(topic)  # later than the table: what is merged by then is not missing
            missing = {path: one for path, one in wanted.items() if path not in there and path not in lost}
            if not missing:
                break
            files = await self._described(topic, missing, lost)
            if files:
                marks = {file.partition: file.last_offset + 1 for file in files}
                job = Job(f"{begun.rebuild_id}-{begun.number}", marks)
                done = await self._parts.tables.append(table, files, job, onto=state.snapshot_id)
                added += 0 if done.repeated else len(files)
            begun, version = await self._put(topic, Rebuild(begun.rebuild_id, begun.number + 1), version)
        await self._parts.meta.commit(
            CLUSTER_DOMAIN,
            [Check(rebuild_key(topic.topic_id), version)],
            [Delete(rebuild_key(topic.topic_id))],
        )
        self._metrics.rebuilt_files.inc(added)
        _log.info("table_rebuilt", topic=topic.name, files=added)
        return added

    async def _described(self, topic: Topic, missing: _Wanted, lost: set[str]) -> list[DataFile]:
        """Describe the next files; one that is damaged is left out, and the stream's repair tells of it."""
        files: list[DataFile] = []
        for path, (partition, file) in list(missing.items())[:FILES_AT_ONCE]:
            try:
                files.append(await data_file(self._parts.objects, partition, file))
            except (NotFound, CorruptParquet) as error:
                lost.add(path)
                _log.error("file_not_in_table", topic=topic.name, path=path, error=str(error))
        return files

    async def _wanted(self, topic: Topic) -> _Wanted:
        """Return the files that the table should have."""
        jobs = [await self._parts.jobs.load(stream) for stream in topic.streams]
        tabled = [one.job for one in jobs if one is not None and one.job.state is JobState.TABLED]
        wanted: _Wanted = {
            file.entry.path: (file.partition, file.entry) async for file in self._index.of_topic(topic)
        }
        for job in tabled:
            for old in job.replaced:
                wanted.pop(old.path, None)
            wanted |= {place.path: (job.partition, place) for place in job.files}
        return {path: one for path, one in wanted.items() if one[1].record_count}

    async def _load(self, topic: Topic) -> tuple[Rebuild, Version] | None:
        key = rebuild_key(topic.topic_id)
        stored = await self._parts.meta.get(CLUSTER_DOMAIN, key)
        if stored is None:
            return None
        return decoded(_decoder, key, stored.value, "a rebuild"), stored.version

    async def _put(self, topic: Topic, rebuild: Rebuild, version: Version) -> tuple[Rebuild, Version]:
        key = rebuild_key(topic.topic_id)
        put = await self._parts.meta.commit(
            CLUSTER_DOMAIN, [Check(key, version)], [Put(key, _encoder.encode(rebuild))]
        )
        if isinstance(put, Conflict):
            raise JobLost(f"the table of {topic.name} is being made again by another compactor")
        return rebuild, put.of[0]
