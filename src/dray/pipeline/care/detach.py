"""Taking files out of the table that the index has given up: retention and DeleteRecords, on the other plane.

Whoever trims a stream marks the files whose entries go, and the mark says that the table still names them.
Here the table gives them up, in one commit for all of them, and then the marks say so: only now may the sweep
delete, and not before the grace is over, which begins anew for those who read an older snapshot. A file that
is not in the table any more, because this was begun before or because somebody else took it out, needs no
commit. What another engine has made of such a file goes with it, if the log starts behind all of that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from dray.ids import MetaDomain, TopicRef
from dray.index import FileGcMarker, decode_file_gc, domain_name, encode_file, file_gc_range
from dray.log import LogSettings
from dray.meta.port import Check, Domain, Entry, MetaStore, Put
from dray.pipeline.care.differences import outlived
from dray.pipeline.care.stored_values import readable
from dray.pipeline.topic_tables import table_of
from dray.runtime import Clock, Entropy
from dray.tables.port import Job as TableJob
from dray.tables.port import Tables


@dataclass(frozen=True, slots=True)
class Marked:
    domain: Domain
    stored: Entry
    marker: FileGcMarker


class Detacher:
    """Goes through the marks of all domains."""

    def __init__(
        self,
        meta: MetaStore,
        domains: int,
        tables: Tables,
        *,
        clock: Clock,
        entropy: Entropy,
        settings: LogSettings,
    ) -> None:
        self._meta = meta
        self._domains = domains
        self._tables = tables
        self._clock = clock
        self._entropy = entropy
        self._settings = settings

    async def waiting(self) -> dict[TopicRef, list[Marked]]:
        """Return the files that their tables still name, by topic."""
        found: dict[TopicRef, list[Marked]] = {}
        for number in range(self._domains):
            domain = Domain(domain_name(MetaDomain(number)))
            marks = readable(self._meta, domain, file_gc_range(MetaDomain(number)), decode_file_gc)
            async for stored, marker in marks:
                if marker.in_table:
                    found.setdefault(marker.topic, []).append(Marked(domain, stored, marker))
        return found

    async def detach(self, topic: TopicRef, marked: Sequence[Marked], starts: Mapping[int, int]) -> int:
        """Take the files out of the topic's table; returns how many were in it.

        `starts` are where the logs of its partitions begin.
        """
        table = table_of(topic)
        live = (await self._tables.current(table)).files
        given_up = {one.marker.path for one in marked} | {one.path for one in outlived(live, starts)}
        named = [one.path for one in live if one.path in given_up]
        if named:
            await self._tables.replace(table, named, [], TableJob(self._entropy.token(16).hex()))
        await self.let_go(marked)
        return len(named)

    async def let_go(self, marked: Sequence[Marked]) -> None:
        """Note that no table names the files: the sweep may have them when the grace is over."""
        delete_after_ms = self._clock.now_ms() + self._settings.file_gc_grace_ms
        for one in marked:
            free = msgspec.structs.replace(one.marker, in_table=False, delete_after_ms=delete_after_ms)
            check = Check(one.stored.key, one.stored.version)
            # A conflict means that somebody else has noted it.
            await self._meta.commit(one.domain, [check], [Put(one.stored.key, encode_file(free))])
