"""Removal of released files from the table: retention and DeleteRecords, as the table sees them.

A trim marks the files whose index entries it removes, and the marker says that the table still references
them. A detach removes them from the table in one commit, then updates their markers. Only then may the sweep
delete them, after a grace period that starts again for readers of older snapshots. A file that is no longer
in the table, because of an interrupted detach or a commit by another engine, needs no commit. Files that
another engine has written from such a file are removed with it once the log starts after all their offsets.
"""

from collections.abc import Mapping, Sequence

import msgspec

from dray.compaction.topic_tables import table_of
from dray.ids import MetaDomain, TopicRef
from dray.index import encode_file
from dray.log import LogSettings
from dray.maintenance.differences import expired_files
from dray.maintenance.stored_values import MarkedFile, marked_files
from dray.meta.port import Check, MetaStore, Put
from dray.runtime import Clock, Entropy
from dray.tables.port import Job as TableJob
from dray.tables.port import Tables


class Detacher:
    """Detaches the marked files of all domains."""

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

    async def pending(self) -> dict[TopicRef, list[MarkedFile]]:
        """Return the marked files that their tables still reference, by topic."""
        found: dict[TopicRef, list[MarkedFile]] = {}
        for number in range(self._domains):
            async for one in marked_files(self._meta, MetaDomain(number)):
                if one.marker.in_table:
                    found.setdefault(one.marker.topic, []).append(one)
        return found

    async def detach(self, topic: TopicRef, marked: Sequence[MarkedFile], starts: Mapping[int, int]) -> int:
        """Remove the files from the topic's table; returns how many were in it.

        `starts` are the log start offsets of its partitions.
        """
        table = table_of(topic)
        live = (await self._tables.current(table)).files
        released = {one.marker.path for one in marked} | {one.path for one in expired_files(live, starts)}
        removed = [one.path for one in live if one.path in released]
        if removed:
            await self._tables.replace(table, removed, [], TableJob(self._entropy.token(16).hex()))
        await self.release(marked)
        return len(removed)

    async def release(self, marked: Sequence[MarkedFile]) -> None:
        """Record that no table references the files: the sweep may delete them after the grace period."""
        delete_after_ms = self._clock.now_ms() + self._settings.file_gc_grace_ms
        for one in marked:
            released = msgspec.structs.replace(one.marker, in_table=False, delete_after_ms=delete_after_ms)
            check = Check(one.stored.key, one.stored.version)
            # A conflict means that another compactor has recorded it.
            await self._meta.commit(one.domain, [check], [Put(one.stored.key, encode_file(released))])
