"""Tables of topics: each must have the records of the index's Parquet files, once, and only existing files.

The comparison is that of the compactors' audit. It is made twice, with a pause: what only one of them finds
is a change in progress.
"""

from collections.abc import AsyncIterator, Sequence
from typing import TypedDict

from dray.check.deps import CheckDeps
from dray.check.findings import Finding
from dray.check.other_findings import OfTable, TableDiffers, TablePending, TableUnreadable
from dray.cluster.topics import Topic
from dray.compaction.index_files import IndexFiles
from dray.compaction.job_store import JobStore
from dray.ids import Domain
from dray.index import CorruptValue
from dray.keyspace import CLUSTER_DOMAIN, rebuild_key
from dray.maintenance.comparison import compare_topic
from dray.maintenance.differences import Comparison
from dray.objects.port import NotFound
from dray.tables.port import LiveFile, NotOurs, Permanent, TableMissing, Tables, TopicTable

_EARLIER = "the next pass of a compactor drops it if an earlier topic of this name was deleted"
_NO_TABLE = "it has Parquet files, but no table: the next pass of a compactor creates the table"
_STALE = "the table has files that were merged since: the next pass of a compactor replaces them"
_EXPIRED = "the table has records that the log has deleted: the next pass of a compactor removes them"


class _Where(TypedDict):
    domain: Domain
    topic: str
    partition: int | None
    first_offset: int | None
    last_offset: int | None
    reason: str


_Place = tuple[int | None, int | None, int | None]
"""Partition, first and last offset."""
_NOWHERE: _Place = (None, None, None)


class TableCheck:
    """Compares tables with the index."""

    def __init__(self, deps: CheckDeps, tables: Tables) -> None:
        self._deps = deps
        self._tables = tables
        self._jobs = JobStore(deps.meta, deps.domains)
        self._index = IndexFiles(deps.meta, self._jobs)

    async def look(self, topic: Topic) -> Sequence[Finding]:
        """Compare one topic; a second call, after a pause, confirms what the first one found."""
        if await self._is_being_rebuilt(topic):
            return ()
        try:
            found = await self._compare(topic)
        except NotOurs as error:
            found = [_differs(topic, _NOWHERE, 0, f"{error}; {_EARLIER}")]
        except Permanent as error:
            found = [TableUnreadable(domain=CLUSTER_DOMAIN, topic=topic.name, reason=str(error))]
        except CorruptValue:
            return ()  # reported by the scan of its streams
        return () if await self._is_being_rebuilt(topic) else found

    async def _compare(self, topic: Topic) -> list[Finding]:
        found = await compare_topic(self._index, self._jobs, self._tables, topic)
        if found is None:
            return [_differs(topic, _NOWHERE, 0, _NO_TABLE)]
        return [*self._differences(topic, found), *[one async for one in self._lost_files(topic)]]

    def _differences(self, topic: Topic, found: Comparison) -> list[Finding]:
        differences: list[Finding] = []
        for one in found.differences:
            place = (one.partition, one.first_offset, one.last_offset)
            differences.append(_differs(topic, place, one.records, one.reason))
        for restoration in found.restorations:
            file = restoration.file
            place = (file.partition, file.entry.start_offset, file.entry.end_offset - 1)
            differences.append(_differs(topic, place, 0, _STALE))
        differences += [_differs(topic, _place(live), 0, _EXPIRED) for live in found.expired]
        return differences

    async def _lost_files(self, topic: Topic) -> AsyncIterator[Finding]:
        """Find files that the table references, the index does not, and the store lacks."""
        try:
            state = await self._tables.current(TopicTable(topic.name, topic.topic_id.hex()))
        except TableMissing:
            return
        self._deps.progress.tables += 1
        indexed = {file.entry.path async for file in self._index.of_topic(topic)}
        for live in state.files:
            if live.path not in indexed and "//" not in live.path and not await self._exists(live):
                reason = f"the table references {live.path}, which is not in the store"
                yield _differs(topic, _place(live), live.records, reason)

    async def _exists(self, live: LiveFile) -> bool:
        try:
            await self._deps.objects.head(live.path)
        except NotFound:
            return False
        except ValueError:
            return True  # a path that only other engines write
        return True

    async def _is_being_rebuilt(self, topic: Topic) -> bool:
        return await self._deps.meta.get(CLUSTER_DOMAIN, rebuild_key(topic.topic_id)) is not None


def _place(live: LiveFile) -> _Place:
    return live.partition, live.first_offset, live.last_offset


def _differs(topic: Topic, place: _Place, records: int, reason: str) -> OfTable:
    partition, first, last = place
    where = _Where(
        domain=CLUSTER_DOMAIN,
        topic=topic.name,
        partition=partition,
        first_offset=first,
        last_offset=last,
        reason=reason,
    )
    return TableDiffers(**where, records=records) if records else TablePending(**where)
