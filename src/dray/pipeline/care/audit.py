"""Seeing that a topic's table has what its index has; what it finds is put right, or told and kept.

What is told is in a log line for each range, in a number, and in a record of the metadata store that lasts
until the difference is gone: `dray compaction status` shows it to whoever asks.

A table is put right by one commit that takes stale files out. It cannot happen twice, because the second time
they are not there; so it needs no job that outlives the process.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import msgspec

from dray.cluster.keys import CLUSTER_DOMAIN
from dray.cluster.topics import Topic
from dray.formats.parquet_v1 import CorruptParquet
from dray.index.keys import ROOT, children
from dray.index.stored import decoded
from dray.meta.port import Check, Delete, MetaStore, Put
from dray.meta.scans import scan_all
from dray.objects.port import NotFound
from dray.observe import get_logger
from dray.pipeline.care.differences import Comparison, Difference, Restoration, compare
from dray.pipeline.parts import CompactionParts
from dray.pipeline.topic_tables import data_file, table_of
from dray.tables.port import DataFile, Job, LiveFile, LookAgain, TableMissing

_DIFFERS: Final = f"{ROOT}/compaction/differs/"
_KEPT: Final = 1_000
_TOLD: Final = 20
"""Log lines for one topic at a time; the rest is in the record."""
_AT_ONCE: Final = 200
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(tuple[Difference, ...])
_log = get_logger("pipeline")


def differs_key(topic_id: bytes) -> str:
    return f"{_DIFFERS}{topic_id.hex()}"


async def known_differences(meta: MetaStore, topic_id: bytes) -> tuple[Difference, ...]:
    """Return what the last look at a topic's table has found."""
    key = differs_key(topic_id)
    stored = await meta.get(CLUSTER_DOMAIN, key)
    return () if stored is None else decoded(_decoder, key, stored.value, "differences of a table")


class TableAudit:
    """Compares tables with the index; whoever calls it holds the topic's lease."""

    def __init__(self, parts: CompactionParts) -> None:
        self._parts = parts
        self._index = parts.index

    async def run(self, topic: Topic, losses: Sequence[Difference] = ()) -> tuple[int, int]:
        """Look; returns how many commits put something right, and how many records differ.

        What is found is kept for whoever asks, after the `losses`, which are known already.
        """
        found = await self._look(topic)
        if found != Comparison():
            found = found.confirmed_by(await self._look(topic))
        commits = await self._restore(topic, found.restorations[:_AT_ONCE])
        commits += await self._give_up(topic, found.outlived)
        differing = sorted(found.differences, key=lambda one: -one.records)  # what is missing before notes
        for one in differing[:_TOLD]:
            _log.warning(
                "table_differs",
                topic=topic.name,
                partition=one.partition,
                offsets=f"{one.first_offset} to {one.last_offset}",
                records=one.records,
                why=one.why,
            )
        await self._keep(topic, (*losses, *differing)[:_KEPT])
        return commits, sum(one.records for one in differing)

    async def forget(self, topic_ids: set[bytes]) -> None:
        """Forget what was found of topics other than these."""
        kept = {differs_key(topic_id) for topic_id in topic_ids}
        async for stored in scan_all(self._parts.meta, CLUSTER_DOMAIN, children(_DIFFERS)):
            if stored.key not in kept:
                check = Check(stored.key, stored.version)
                await self._parts.meta.commit(CLUSTER_DOMAIN, [check], [Delete(stored.key)])

    async def _look(self, topic: Topic) -> Comparison:
        files = [file async for file in self._index.of_topic(topic)]
        jobs = [await self._parts.jobs.load(stream) for stream in topic.streams]
        busy = {at for at, stored in enumerate(jobs) if stored is not None and stored.job.is_unfinished}
        starts = await self._index.starts(topic)
        if not files and not any(starts.values()):
            return Comparison()
        try:
            state = await self._parts.tables.current(table_of(topic.ref))
        except TableMissing:
            return Comparison()  # it is made again before the next round
        return compare(files, state, starts, busy, is_cleaned=topic.config.is_compacted)

    async def _restore(self, topic: Topic, restorations: tuple[Restoration, ...]) -> int:
        """Put files of the index in the places of those that they were made from, in one commit."""
        added: list[DataFile] = []
        removed: list[str] = []
        for one in restorations:
            if not await self._index.still_names(one.file):
                continue
            try:
                added.append(await data_file(self._parts.objects, one.file.partition, one.file.entry))
            except (NotFound, CorruptParquet) as error:
                _log.error("file_not_in_table", topic=topic.name, path=one.file.entry.path, error=str(error))
                continue
            removed += [stale.path for stale in one.stale]
        if not added:
            return 0
        with suppress(LookAgain):  # the next look finds what is left
            job = Job(self._parts.entropy.token(16).hex())
            await self._parts.tables.replace(table_of(topic.ref), removed, added, job)
            _log.warning("table_put_right", topic=topic.name, files=len(added), instead_of=len(removed))
            return 1
        return 0

    async def _give_up(self, topic: Topic, outlived: tuple[LiveFile, ...]) -> int:
        """Take files out of the table that hold nothing of the log any more."""
        if not outlived:
            return 0
        with suppress(LookAgain):  # the next look finds what is left
            job = Job(self._parts.entropy.token(16).hex())
            await self._parts.tables.replace(table_of(topic.ref), [one.path for one in outlived], [], job)
            _log.info("others_files_expired", topic=topic.name, files=len(outlived))
            return 1
        return 0

    async def _keep(self, topic: Topic, differences: tuple[Difference, ...]) -> None:
        key = differs_key(topic.topic_id)
        stored = await self._parts.meta.get(CLUSTER_DOMAIN, key)
        if stored is None and not differences:
            return
        value = _encoder.encode(differences)
        if stored is None or stored.value != value:
            write = Put(key, value) if differences else Delete(key)
            await self._parts.meta.commit(CLUSTER_DOMAIN, [], [write])
