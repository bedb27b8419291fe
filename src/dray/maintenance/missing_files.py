"""Parquet files that the index references and the store lacks: notes of readers, and the search by listing.

A reader that does not find a file leaves a note (`dray.log.missing`), which makes the topic's audit due. The
audit lists the store instead of checking each file, because one request lists a thousand. A file that is not
listed is checked by name, and the index is read again, before it counts as missing.
"""

from dataclasses import dataclass

from dray.cluster.topics import Topic
from dray.compaction.index_files import IndexedFile, IndexFiles
from dray.ids import Domain, MetaDomain, StreamId
from dray.index import FILES_PREFIX
from dray.keyspace import log_domain, missing_files_range
from dray.log.missing import decode_missing
from dray.maintenance.stored_values import readable
from dray.meta.port import Check, Delete, Entry, MetaStore
from dray.objects.port import NotFound, ObjectStore


@dataclass(frozen=True, slots=True)
class _Note:
    domain: Domain
    stored: Entry


class MissingFileNotes:
    """The notes of all readers of a cluster, as of the last `read`."""

    def __init__(self, meta: MetaStore, domains: int) -> None:
        self._meta = meta
        self._domains = domains
        self._found: dict[StreamId, list[_Note]] = {}

    async def read(self) -> None:
        self._found = {}
        for number in range(self._domains):
            domain = log_domain(MetaDomain(number))
            bounds = missing_files_range(MetaDomain(number))
            async for stored, missing in readable(self._meta, domain, bounds, decode_missing):
                self._found.setdefault(missing.stream, []).append(_Note(domain, stored))

    def mention(self, topic: Topic) -> bool:
        """Return whether a reader has missed a file of the topic."""
        return any(stream in self._found for stream in topic.streams)

    async def remove(self, topic: Topic) -> None:
        """Remove the notes of an audited topic; one that has changed since it was read is a new one."""
        for stream in topic.streams:
            for note in self._found.pop(stream, []):
                check = Check(note.stored.key, note.stored.version)
                await self._meta.commit(note.domain, [check], [Delete(note.stored.key)])


async def missing_files(index: IndexFiles, objects: ObjectStore, topic: Topic) -> list[IndexedFile]:
    """Return the topic's files that the index references and the store lacks."""
    indexed = [file async for file in index.of_topic(topic)]
    if not indexed:
        return []
    listed = {info.path async for info in objects.list(f"{FILES_PREFIX}topic={topic.name}/")}
    return [
        file
        for file in indexed
        if file.entry.path not in listed
        and not await _exists(objects, file.entry.path)
        and await index.references(file)
    ]


async def _exists(objects: ObjectStore, path: str) -> bool:
    try:
        await objects.head(path)
    except NotFound:
        return False
    return True
