"""Cleanup after deleted topics: their tables, jobs and rebuilds, and the files in their tables' folders.

Tables are dropped first. Then nothing references the topics' files any more, and their markers are released;
unfinished jobs and rebuilds are removed, so that the sweep can delete their files. Files in a table's own
folder are kept as long as other unreferenced files, and until then a record names the folder. The record is
written after the table is dropped: before that, another engine could still rename the table, and the files
would belong to a table that exists. If the process dies in between, the files are never deleted, because only
folders with a record are swept.
"""

from collections.abc import Iterable
from contextlib import suppress

from dray.cluster.topics import TopicCatalog
from dray.compaction.deps import CompactionDeps
from dray.compaction.topic_tables import table_of
from dray.ids import MetaDomain
from dray.index import decode_job
from dray.index.table_records import Dropped, decode_dropped, encode_table_record
from dray.keyspace import (
    CLUSTER_DOMAIN,
    dropped_table_key,
    dropped_tables_range,
    jobs_range,
    log_domain,
    rebuilds_range,
)
from dray.maintenance.detach import Detacher
from dray.maintenance.stored_values import readable
from dray.maintenance.table_files import delete_all, table_files
from dray.meta.port import Check, Delete, Entry, Put
from dray.meta.reading import scan_all
from dray.tables.names import is_topics_folder
from dray.tables.port import Listing, TableMissing, TopicTable


class DeletedTopics:
    """Cleans up after deleted topics; every step is idempotent and may run in several processes at once."""

    def __init__(self, deps: CompactionDeps, topics: TopicCatalog, detacher: Detacher) -> None:
        self._deps = deps
        self._topics = topics
        self._detacher = detacher

    async def drop_tables(self, listed: Iterable[TopicTable]) -> None:
        """Drop the tables whose topics were deleted, then release the files that they referenced."""
        for table in listed:
            if not await self._exists(table):
                with suppress(TableMissing):  # another process has dropped it
                    await self._drop(table)
        marked = {
            ref: files
            for ref, files in (await self._detacher.pending()).items()
            if not await self._exists(table_of(ref))
        }
        remaining = await self._deps.tables.listing() if marked else Listing()
        for ref, files in marked.items():
            if table_of(ref) not in remaining:
                await self._detacher.release(files)

    async def _drop(self, table: TopicTable) -> None:
        folder = await self._deps.tables.folder(table)
        if await self._deps.tables.drop(table) and is_topics_folder(folder, table.topic):
            dropped = Dropped(table.topic, folder, self._deps.clock.now_ms())
            key = dropped_table_key(table.topic_id, folder)
            put = Put(key, encode_table_record(dropped))
            await self._deps.meta.commit(CLUSTER_DOMAIN, [], [put])

    async def remove_jobs(self, domains: int) -> int:
        """Remove the jobs of deleted topics without a table; returns how many there were."""
        tables = await self._deps.tables.listing()
        removed = 0
        for number in range(domains):
            domain = log_domain(MetaDomain(number))
            async for stored, job in readable(self._deps.meta, domain, jobs_range(), decode_job):
                table = table_of(job.topic)
                if table in tables or await self._exists(table):
                    continue
                check = Check(stored.key, stored.version)
                await self._deps.meta.commit(domain, [check], [Delete(stored.key)])
                removed += 1
        return removed

    async def forget_rebuilds(self) -> int:
        """Remove the rebuild records of deleted topics without a table; returns how many there were.

        A record keeps the sweep from deleting strays, because a table may reference them.
        """
        meta = self._deps.meta
        gone: dict[str, Entry] = {}
        async for stored in scan_all(meta, CLUSTER_DOMAIN, rebuilds_range()):
            topic_id = stored.key.rpartition("/")[2]
            if await self._topics.fresh_id(bytes.fromhex(topic_id)) is None:
                gone[topic_id] = stored
        listing = await self._deps.tables.listing() if gone else Listing()
        if listing.unreadable:
            return 0  # it may be the table of one of these topics
        for table in listing:
            gone.pop(table.topic_id, None)
        for stored in gone.values():
            await meta.commit(CLUSTER_DOMAIN, [Check(stored.key, stored.version)], [Delete(stored.key)])
        return len(gone)

    async def sweep_files(self) -> int:
        """Delete old files in the folders of dropped tables; returns how many."""
        found = readable(self._deps.meta, CLUSTER_DOMAIN, dropped_tables_range(), decode_dropped)
        records = [record async for record in found]
        listing = await self._deps.tables.listing()  # after the records, so their tables are already dropped
        if not listing.is_whole:
            return 0  # an unreadable table may be in one of the folders
        deleted = 0
        for stored, dropped in records:
            old: list[str] = []
            young: list[str] = []
            if dropped.folder not in listing.folders:  # else a new table was created in the swept folder
                old, young = await self._files(dropped)
            count = await delete_all(self._deps.objects, old, dropped.topic)
            deleted += count
            if not young and count == len(old):
                check = Check(stored.key, stored.version)
                await self._deps.meta.commit(CLUSTER_DOMAIN, [check], [Delete(stored.key)])
        return deleted

    async def _files(self, dropped: Dropped) -> tuple[list[str], list[str]]:
        """Return the files of a dropped table that may be deleted, and those that are too young."""
        oldest_ms = self._deps.clock.now_ms() - self._deps.settings.table_orphan_ttl_ms
        found = [
            info
            async for info in table_files(self._deps.objects, dropped.folder)
            if info.modified_ms <= dropped.dropped_at_ms
        ]
        old = [info.path for info in found if info.modified_ms <= oldest_ms]
        return old, [info.path for info in found if info.modified_ms > oldest_ms]

    async def _exists(self, table: TopicTable) -> bool:
        """Return whether the table's topic exists. An unknown topic is looked up in the store: the local
        view may not have a topic that was just created."""
        topic = self._topics.find(table.topic)
        if topic is None or table_of(topic.ref) != table:
            topic = await self._topics.fresh(table.topic)
        return topic is not None and table_of(topic.ref) == table
