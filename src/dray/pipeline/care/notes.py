"""What readers have noted: files that they were to read and did not find. See `dray.log.missing`."""

from dataclasses import dataclass

from dray.cluster.topics import Topic
from dray.ids import MetaDomain, StreamId
from dray.index import domain_name
from dray.log.missing import decode_missing, missing_range
from dray.meta.port import Check, Delete, Domain, Entry, MetaStore
from dray.pipeline.care.stored_values import readable


@dataclass(frozen=True, slots=True)
class _Note:
    domain: Domain
    stored: Entry


class Notes:
    """The notes of a cluster, as they were last read."""

    def __init__(self, meta: MetaStore, domains: int) -> None:
        self._meta = meta
        self._domains = domains
        self._found: dict[StreamId, list[_Note]] = {}

    async def read(self) -> None:
        self._found = {}
        for number in range(self._domains):
            domain = Domain(domain_name(MetaDomain(number)))
            notes = readable(self._meta, domain, missing_range(domain), decode_missing)
            async for stored, missing in notes:
                self._found.setdefault(missing.stream, []).append(_Note(domain, stored))

    def tell_of(self, topic: Topic) -> bool:
        """Whether somebody has missed a file of the topic."""
        return any(stream in self._found for stream in topic.streams)

    async def remove(self, topic: Topic) -> None:
        """Remove the notes of a topic that was looked through: one that was changed since is a new one."""
        for stream in topic.streams:
            for note in self._found.pop(stream, []):
                check = Check(note.stored.key, note.stored.version)
                await self._meta.commit(note.domain, [check], [Delete(note.stored.key)])
