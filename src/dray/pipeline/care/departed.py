"""Clearing up after topics that are no more: their tables, their jobs, and the files of their tables.

Tables go first. Then nothing names the topics' files any more, and the marks that wait for the table let
them go; and a job that was never finished is forgotten, so that the sweep may have its files. What is in a
table's own folder is left for as long as all that nothing names. Until then a record says which folder it
was. It is written once the table is dropped: before, somebody could still rename it, and the files would be
those of a table that is there. If the process dies in between, they stay for ever: no files are touched that
no record tells of.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import msgspec

from dray.cluster.keys import CLUSTER_DOMAIN
from dray.cluster.topics import Topics
from dray.ids import MetaDomain
from dray.index import decode_job, domain_name, jobs_range
from dray.index.keys import ROOT, children
from dray.index.stored import decoded
from dray.meta.port import Check, Delete, Domain, Put
from dray.pipeline.care.detach import Detacher
from dray.pipeline.care.stored_values import readable
from dray.pipeline.care.table_files import delete_all, table_files
from dray.pipeline.parts import CompactionParts
from dray.pipeline.topic_tables import table_of
from dray.tables.names import is_topics_folder
from dray.tables.port import Listing, TableMissing, TopicTable

_DROPPED: Final = f"{ROOT}/compaction/dropped-tables/"


class Dropped(msgspec.Struct, frozen=True, array_like=True, tag="d1"):
    """A table that was dropped, the folder where it was, and when: what came there later is another's."""

    topic: str
    folder: str
    dropped_at_ms: int


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Dropped)


def _decoded(key: str, value: bytes) -> Dropped:
    return decoded(_decoder, key, value, "a table that was dropped")


class Departed:
    """Clears up; every step looks first and may be done by several at once."""

    def __init__(self, parts: CompactionParts, topics: Topics, detacher: Detacher) -> None:
        self._parts = parts
        self._topics = topics
        self._detacher = detacher

    async def drop_tables(self, listed: Iterable[TopicTable]) -> None:
        """Drop those of the tables whose topics are no more, and then let go of their files."""
        for table in listed:
            if not await self._exists(table):
                with suppress(TableMissing):  # somebody else has dropped it
                    await self._drop(table)
        marked = {
            ref: some
            for ref, some in (await self._detacher.waiting()).items()
            if not await self._exists(table_of(ref))
        }
        left = await self._parts.tables.listing() if marked else Listing()
        for ref, some in marked.items():
            if table_of(ref) not in left:
                await self._detacher.let_go(some)

    async def _drop(self, table: TopicTable) -> None:
        folder = await self._parts.tables.folder(table)
        if await self._parts.tables.drop(table) and is_topics_folder(folder, table.topic):
            dropped = Dropped(table.topic, folder, self._parts.clock.now_ms())
            key = f"{_DROPPED}{table.topic_id}-{folder.replace('/', '-')}"
            put = Put(key, _encoder.encode(dropped))
            await self._parts.meta.commit(CLUSTER_DOMAIN, [], [put])

    async def forget_jobs(self, domains: int) -> int:
        """Forget the jobs of topics that are no more and have no table; returns how many there were."""
        tables = await self._parts.tables.listing()
        forgotten = 0
        for number in range(domains):
            domain = Domain(domain_name(MetaDomain(number)))
            async for stored, job in readable(self._parts.meta, domain, jobs_range(), decode_job):
                table = table_of(job.topic)
                if table in tables or await self._exists(table):
                    continue
                check = Check(stored.key, stored.version)
                await self._parts.meta.commit(domain, [check], [Delete(stored.key)])
                forgotten += 1
        return forgotten

    async def sweep_files(self) -> int:
        """Delete old files of tables that were dropped here; returns how many."""
        found = readable(self._parts.meta, CLUSTER_DOMAIN, children(_DROPPED), _decoded)
        records = [record async for record in found]
        listing = await self._parts.tables.listing()  # after the records: their tables are dropped in it
        if not listing.is_whole:
            return 0  # who knows where those are that cannot be read
        deleted = 0
        for stored, dropped in records:
            old: list[str] = []
            young: list[str] = []
            if dropped.folder not in listing.folders:  # else another was made there when all had been swept
                old, young = await self._files(dropped)
            gone = await delete_all(self._parts.objects, old, dropped.topic)
            deleted += gone
            if not young and gone == len(old):
                check = Check(stored.key, stored.version)
                await self._parts.meta.commit(CLUSTER_DOMAIN, [check], [Delete(stored.key)])
        return deleted

    async def _files(self, dropped: Dropped) -> tuple[list[str], list[str]]:
        """Return what may go of a table's files, and what is too young."""
        oldest_ms = self._parts.clock.now_ms() - self._parts.settings.table_orphan_ttl_ms
        found = [
            info
            async for info in table_files(self._parts.objects, dropped.folder)
            if info.modified_ms <= dropped.dropped_at_ms
        ]
        old = [info.path for info in found if info.modified_ms <= oldest_ms]
        return old, [info.path for info in found if info.modified_ms > oldest_ms]

    async def _exists(self, table: TopicTable) -> bool:
        """Whether there is the table's topic. The store itself is asked about an unknown one: a topic made a
        moment ago is not known here yet."""
        topic = self._topics.find(table.topic)
        if topic is None or table_of(topic.ref) != table:
            topic = await self._topics.fresh(table.topic)
        return topic is not None and table_of(topic.ref) == table
