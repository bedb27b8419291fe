"""Keeping tables small: snapshots are expired, and the metadata that nothing names any more is deleted.

Without it each commit costs more than the one before, because the whole history is read and written with it.
So snapshots are expired after some commits. And once more when a table has had none for as long as snapshots
are kept: files that only old snapshots name are deleted after a while, and a table that has become idle would
keep snapshots for ever that nobody can read. How a table was left before the process began is not known, so
each is looked at once.

Metadata goes in two ways. What an expiry has set free is deleted at once: every snapshot that named it had
been replaced long enough ago for its readers to have finished. What nothing ever named, or what was set free
by an expiry whose process died then, is found by listing the table's own folder, and must be a day old, so
that no commit under way can still be about to name it. Before either, the table is asked what it reaches.

Data files are not touched here: the index may name them, and only the sweep knows.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from dray.objects.port import ObjectError, ObjectStore
from dray.observe import get_logger
from dray.pipeline.metrics import CompactionMetrics
from dray.pipeline.settings import CompactionSettings
from dray.runtime import Clock
from dray.tables.names import metadata_folder
from dray.tables.port import LookAgain, TableMissing, Tables, TopicTable

METADATA_SUFFIXES: Final = (".avro", ".metadata.json")
"""What tables' commits write; whatever else somebody keeps in that folder stays."""
_log = get_logger("pipeline")


@dataclass(slots=True)
class _Due:
    """What has happened to a table since it was last looked after."""

    commits: int
    changed_ms: int | None
    """When the last commit was seen; None once all has been expired that it had replaced."""
    listed_ms: int | None = None


class Upkeep:
    """Looks after tables; what it remembers of them is only when to do so."""

    def __init__(
        self,
        tables: Tables,
        objects: ObjectStore,
        clock: Clock,
        settings: CompactionSettings,
        metrics: CompactionMetrics,
    ) -> None:
        self._tables = tables
        self._objects = objects
        self._clock = clock
        self._settings = settings
        self._metrics = metrics
        self._due: dict[TopicTable, _Due] = {}

    async def after_commits(self, table: TopicTable, commits: int) -> None:
        """Do what is due after so many more commits; the first in a process finds it due at once."""
        now_ms = self._clock.now_ms()
        due = self._due.setdefault(table, _Due(self._settings.expire_commits, now_ms))
        if not commits:
            await self._expire_idle(table, due, now_ms)
            return
        due.commits += commits
        due.changed_ms = now_ms
        if due.commits >= self._settings.expire_commits:
            with suppress(LookAgain):  # others are at it: the next time
                await self.expire(table)
                due.commits = 0
        if due.listed_ms is None or due.listed_ms <= now_ms - self._settings.metadata_sweep_interval_ms:
            await self.sweep(table)
            due.listed_ms = now_ms

    def forget_all_but(self, tables: Iterable[TopicTable]) -> None:
        """Remember nothing of tables other than these."""
        kept = set(tables)
        self._due = {table: due for table, due in self._due.items() if table in kept}

    async def _expire_idle(self, table: TopicTable, due: _Due, now_ms: int) -> None:
        """Expire what the last commits have replaced, once it is old enough for all of it to go."""
        if due.changed_ms is None or now_ms <= due.changed_ms + self._settings.snapshot_age_ms_max:
            return
        due.changed_ms = now_ms  # should it fail, not again in the next turn
        with suppress(LookAgain):
            with suppress(TableMissing):  # most likely a topic without records
                await self.expire(table)
            due.changed_ms, due.commits = None, 0

    async def expire(self, table: TopicTable) -> int:
        """Forget old snapshots and delete what only they named; returns how many files."""
        older_than_ms = self._clock.now_ms() - self._settings.snapshot_age_ms_max
        expired = await self._tables.expire(table, older_than_ms)
        self._metrics.expired_snapshots.inc(expired.snapshots)
        return await self._delete(table, expired.metadata_files) if expired.metadata_files else 0

    async def sweep(self, table: TopicTable) -> int:
        """Delete old metadata that nothing names; lists the table's folder, so for once in a while."""
        oldest_ms = self._clock.now_ms() - self._settings.metadata_orphan_ttl_ms
        # Listed before the table is asked: what a commit writes meanwhile is not on the list.
        found = [
            info.path
            async for info in self._objects.list(metadata_folder(table.topic))
            if info.modified_ms <= oldest_ms
        ]
        return await self._delete(table, found) if found else 0

    async def _delete(self, table: TopicTable, paths: Iterable[str]) -> int:
        folder, reached = metadata_folder(table.topic), await self._tables.reachable(table, data=False)
        deleted = 0
        for path in paths:
            if path in reached or not (path.startswith(folder) and path.endswith(METADATA_SUFFIXES)):
                continue
            try:
                await self._objects.delete(path)
            except ObjectError as error:
                _log.warning("metadata_not_swept", topic=table.topic, path=path, error=str(error))
                continue
            deleted += 1
        self._metrics.swept_metadata.inc(deleted)
        return deleted
