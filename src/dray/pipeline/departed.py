"""Clearing up after topics that are no more: their tables, their jobs, and the metadata of their tables.

Tables go first. Then nothing names the topics' files any more, and the marks that wait for the table let
them go; and a job that was never finished is forgotten, so that the sweep may have its files. A table's
metadata is left for as long as all that nothing names. Until then a record, written before the table is
dropped, says that it was ours; without one, nobody's metadata is touched.
"""

from collections.abc import Collection
from typing import Final

from dray.cluster.keys import CLUSTER_DOMAIN
from dray.cluster.topics import Topics
from dray.ids import MetaDomain
from dray.index import decode_job, domain_name
from dray.index.keys import ROOT, children
from dray.meta.port import Check, Delete, Domain, Put
from dray.meta.scans import scan_all
from dray.objects.port import ObjectStore
from dray.pipeline.detach import Detacher
from dray.pipeline.publish import table_of
from dray.pipeline.rounds import RoundParts
from dray.pipeline.stored_values import readable
from dray.pipeline.upkeep import METADATA_SUFFIXES
from dray.tables.names import metadata_folder
from dray.tables.port import Listing, TopicTable

_DROPPED: Final = f"{ROOT}/compaction/dropped/"
_JOBS: Final = f"{ROOT}/compaction/jobs/"


class Departed:
    """Clears up; every step looks first and may be done by several at once."""

    def __init__(self, parts: RoundParts, topics: Topics, detacher: Detacher) -> None:
        self._parts = parts
        self._topics = topics
        self._detacher = detacher

    async def drop_tables(self, listed: Collection[TopicTable]) -> None:
        """Drop those of the tables whose topics are no more, and then let go of their files."""
        for table in listed:
            if not await self._exists(table.topic, table.topic_id):
                put = Put(f"{_DROPPED}{table.topic_id}", table.topic.encode())
                await self._parts.meta.commit(CLUSTER_DOMAIN, [], [put])
                await self._parts.tables.drop(table)
        marked = {
            ref: some
            for ref, some in (await self._detacher.waiting()).items()
            if not await self._exists(ref.name, ref.topic_id.hex())
        }
        left = await self._parts.tables.listing() if marked else Listing()
        for ref, some in marked.items():
            if table_of(ref) not in left:
                await self._detacher.let_go(some)

    async def forget_jobs(self, domains: int) -> int:
        """Forget the jobs of topics that are no more and have no table; returns how many there were."""
        tables = await self._parts.tables.listing()
        forgotten = 0
        for number in range(domains):
            domain = Domain(domain_name(MetaDomain(number)))
            async for stored, job in readable(self._parts.meta, domain, children(_JOBS), decode_job):
                topic = job.topic
                if table_of(topic) in tables or await self._exists(topic.name, topic.topic_id.hex()):
                    continue
                check = Check(stored.key, stored.version)
                await self._parts.meta.commit(domain, [check], [Delete(stored.key)])
                forgotten += 1
        return forgotten

    async def sweep_metadata(self, objects: ObjectStore) -> int:
        """Delete old metadata of tables that were dropped here; returns how many files."""
        listing = await self._parts.tables.listing()
        tables = {
            table.topic for table in (*listing, *listing.elsewhere.values())
        } | listing.unreadable.keys()
        deleted = 0
        async for stored in scan_all(self._parts.meta, CLUSTER_DOMAIN, children(_DROPPED)):
            topic = stored.value.decode(errors="replace")
            if topic in tables:
                continue  # a namesake's, which keeps that folder clean itself, or one that was renamed
            old, young = await self._metadata(objects, topic)
            for path in old:
                await objects.delete(path)
            deleted += len(old)
            if not young:
                check = Check(stored.key, stored.version)
                await self._parts.meta.commit(CLUSTER_DOMAIN, [check], [Delete(stored.key)])
        return deleted

    async def _metadata(self, objects: ObjectStore, topic: str) -> tuple[list[str], list[str]]:
        """Return what may go of a table's metadata, and what is too young."""
        oldest_ms = self._parts.clock.now_ms() - self._parts.settings.metadata_orphan_ttl_ms
        found = [
            info
            async for info in objects.list(metadata_folder(topic))
            if info.path.endswith(METADATA_SUFFIXES)
        ]
        old = [info.path for info in found if info.modified_ms <= oldest_ms]
        return old, [info.path for info in found if info.modified_ms > oldest_ms]

    async def _exists(self, name: str, topic_id: str) -> bool:
        """Ask the store itself about an unknown one: a topic made a moment ago is not known here yet."""
        topic = self._topics.find(name)
        if topic is None or topic.topic_id.hex() != topic_id:
            topic = await self._topics.fresh(name)
        return topic is not None and topic.topic_id.hex() == topic_id
