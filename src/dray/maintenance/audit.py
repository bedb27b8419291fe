"""Table audit: compares a topic's table with its index, repairs what it can and records the rest.

Each remaining difference is logged, counted in a metric, and kept in a record of the metadata store until it
is resolved; `dray compaction status` shows the record.

A repair is one commit that replaces stale files. It needs no job that outlives the process: a repeated repair
finds the stale files no longer in the table.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from dray.cluster.topics import Topic
from dray.compaction.deps import CompactionDeps
from dray.compaction.topic_tables import data_file, table_of
from dray.formats.parquet_v1 import CorruptParquet
from dray.maintenance.comparison import compare_topic
from dray.maintenance.differences import Comparison, Difference, Restoration
from dray.maintenance.recorded_differences import forget_differences, record_differences
from dray.objects.port import NotFound
from dray.observe import get_logger
from dray.tables.port import DataFile, Job, LiveFile, StaleView

_RECORDED_MAX: Final = 1_000
_LOGGED_MAX: Final = 20
"""Log lines per topic and audit; the rest is in the record."""
_RESTORATIONS_MAX: Final = 200
_log = get_logger("maintenance")


class TableAudit:
    """Audits tables; the caller holds the topic's lease."""

    def __init__(self, deps: CompactionDeps) -> None:
        self._deps = deps
        self._index = deps.index

    async def run(self, topic: Topic, losses: Sequence[Difference] = ()) -> tuple[int, int]:
        """Audit a topic; returns the number of repair commits, and how many records still differ.

        The differences are recorded after the `losses`, which are known already.
        """
        found = await self._compare(topic)
        if found != Comparison():
            found = found.confirmed_by(await self._compare(topic))
        commits = await self._restore(topic, found.restorations[:_RESTORATIONS_MAX])
        commits += await self._remove_expired(topic, found.expired)
        differing = sorted(found.differences, key=lambda one: -one.records)  # pending actions last
        for one in differing[:_LOGGED_MAX]:
            _log.warning(
                "table_audit_mismatch",
                topic=topic.name,
                partition=one.partition,
                offsets=f"{one.first_offset} to {one.last_offset}",
                records=one.records,
                reason=one.reason,
            )
        recorded = (*losses, *differing)[:_RECORDED_MAX]
        await record_differences(self._deps.meta, topic.topic_id, recorded)
        return commits, sum(one.records for one in differing)

    async def forget(self, topic_ids: set[bytes]) -> None:
        """Delete the recorded differences of topics other than these."""
        await forget_differences(self._deps.meta, topic_ids)

    async def _compare(self, topic: Topic) -> Comparison:
        found = await compare_topic(self._index, self._deps.jobs, self._deps.tables, topic)
        return found or Comparison()  # a missing table is rebuilt before the next round

    async def _restore(self, topic: Topic, restorations: tuple[Restoration, ...]) -> int:
        """Replace stale files in the table by the index's merged ones, in one commit."""
        added: list[DataFile] = []
        removed: list[str] = []
        for one in restorations:
            if not await self._index.references(one.file):
                continue
            try:
                added.append(await data_file(self._deps.objects, one.file.partition, one.file.entry))
            except (NotFound, CorruptParquet) as error:
                _log.error("file_unreadable", topic=topic.name, path=one.file.entry.path, error=str(error))
                continue
            removed += [stale.path for stale in one.stale]
        if not added:
            return 0
        with suppress(StaleView):  # the next audit retries
            job = Job(self._deps.entropy.token(16).hex())
            await self._deps.tables.replace(table_of(topic.ref), removed, added, job)
            _log.warning("table_repaired", topic=topic.name, added=len(added), removed=len(removed))
            return 1
        return 0

    async def _remove_expired(self, topic: Topic, expired: tuple[LiveFile, ...]) -> int:
        """Remove files from the table whose offsets have all left the log."""
        if not expired:
            return 0
        with suppress(StaleView):  # the next audit retries
            job = Job(self._deps.entropy.token(16).hex())
            await self._deps.tables.replace(table_of(topic.ref), [one.path for one in expired], [], job)
            _log.info("expired_files_removed", topic=topic.name, files=len(expired))
            return 1
        return 0
