"""Keeping tables small: snapshots are expired, and files that nothing names any more are deleted.

Without it each commit costs more than the one before, because the whole history is read and written with it.
So snapshots are expired after some commits. And once more when a table has had none for as long as snapshots
are kept: files that only old snapshots name are deleted after a while, and a table that has become idle would
keep snapshots for ever that nobody can read. How a table was left before the process began is not known, so
each is looked at once. Later it is looked at as often as its folder is: others may commit to it.

Metadata goes in two ways. What an expiry has set free is deleted at once: every snapshot that named it had
been replaced long enough ago for its readers to have finished. What nothing ever named, or what was set free
by an expiry whose process died then, is found by listing the table's own folder, and must be days old, so
that no commit under way can still be about to name it; and so are data files that other engines have written.
Before either, the table is asked what it reaches.

Our own data files are not touched here: the index may name them, and only the sweep knows.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from dray.objects.port import ObjectStore
from dray.pipeline.care.table_files import delete_all, table_files, unnamed
from dray.pipeline.metrics import CompactionMetrics
from dray.pipeline.settings import CompactionSettings
from dray.runtime import Clock
from dray.tables.names import is_topics_folder, metadata_folder, overlap
from dray.tables.port import Listing, LookAgain, TableAltered, TableMissing, Tables, TopicTable


@dataclass(slots=True)
class _Due:
    """What has happened to a table since it was last looked after."""

    commits: int
    changed_ms: int | None
    """When the last commit was seen; None once all has been expired that it had replaced."""
    listed_ms: int | None = None
    """When its folder was last looked through."""


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
        self._folders: tuple[str, ...] | None = None

    def see(self, listed: Listing | None) -> None:
        """Look where tables are. Of a folder that two of them have, as after somebody has registered one
        again, nothing is deleted; and while it is not known where all are, nothing at all."""
        self._folders = listed.folders if listed is not None and listed.is_whole else None

    async def after_commits(self, table: TopicTable, commits: int) -> None:
        """Do what is due after so many more commits; the first in a process finds it due at once."""
        now_ms = self._clock.now_ms()
        due = self._due.setdefault(table, _Due(self._settings.expire_commits, now_ms))
        if not commits:
            await self._look_after_idle(table, due, now_ms)
            return
        due.commits += commits
        due.changed_ms = now_ms
        if due.commits >= self._settings.expire_commits:
            with suppress(LookAgain):  # others are at it: the next time
                await self.expire(table)
                due.commits = 0
        if self._is_sweep_due(due, now_ms):
            await self.sweep(table)
            due.listed_ms = now_ms

    def forget_all_but(self, tables: Iterable[TopicTable]) -> None:
        """Remember nothing of tables other than these."""
        kept = set(tables)
        self._due = {table: due for table, due in self._due.items() if table in kept}

    async def _look_after_idle(self, table: TopicTable, due: _Due, now_ms: int) -> None:
        """Expire what the last commits have replaced, once it is old enough for all of it to go; and now and
        then, with a look through the folder, what others have done since."""
        is_sweep_due = self._is_sweep_due(due, now_ms)
        if due.changed_ms is None and not is_sweep_due:
            return
        if due.changed_ms is not None and now_ms <= due.changed_ms + self._settings.snapshot_age_ms_max:
            return
        due.changed_ms = now_ms  # should it fail, not again in the next turn
        with suppress(LookAgain):
            with suppress(TableMissing):  # most likely a topic without records
                await self.expire(table)
                if is_sweep_due:
                    await self.sweep(table)
            due.changed_ms, due.commits = None, 0
            due.listed_ms = now_ms if is_sweep_due else due.listed_ms

    def _is_sweep_due(self, due: _Due, now_ms: int) -> bool:
        return due.listed_ms is None or due.listed_ms <= now_ms - self._settings.table_sweep_interval_ms

    async def expire(self, table: TopicTable) -> int:
        """Forget old snapshots and delete what only they named; returns how many files."""
        older_than_ms = self._clock.now_ms() - self._settings.snapshot_age_ms_max
        try:
            expired = await self._tables.expire(table, older_than_ms)
        except TableAltered:
            return 0  # that is for the round to tell
        self._metrics.expired_snapshots.inc(expired.snapshots)
        folder = await self._own_folder(table) if expired.metadata_files else None
        if folder is None:
            return 0
        ours = [path for path in expired.metadata_files if path.startswith(metadata_folder(folder))]
        return await self._delete(table, folder, ours, data=False)

    async def sweep(self, table: TopicTable) -> int:
        """Delete old files that nothing names; lists the table's folder, so for once in a while."""
        oldest_ms = self._clock.now_ms() - self._settings.table_orphan_ttl_ms
        folder = await self._own_folder(table)
        if folder is None:
            return 0
        # Listed before the table is asked: what a commit writes meanwhile is not on the list.
        found = table_files(self._objects, folder)
        old = [info.path async for info in found if info.modified_ms <= oldest_ms]
        return await self._delete(table, folder, old, data=True)

    async def _own_folder(self, table: TopicTable) -> str | None:
        """Return where the table is, or None if that is not a place of its own: then nothing is deleted."""
        folder = await self._tables.folder(table)
        if self._folders is None or not is_topics_folder(folder, table.topic):
            return None
        return folder if sum(overlap(folder, one) for one in self._folders) <= 1 else None

    async def _delete(self, table: TopicTable, folder: str, paths: Sequence[str], *, data: bool) -> int:
        """Delete what the table does not reach of what was in its folder; what data files it reaches takes
        longer to say."""
        if not paths:
            return 0
        reached = await self._tables.reachable(table, data=data)
        if not any(path.startswith(metadata_folder(folder)) for path in reached):
            return 0  # it is another table by now, and the one in that folder has been renamed
        deleted = await delete_all(self._objects, unnamed(paths, reached), table.topic)
        self._metrics.swept_table_files.inc(deleted)
        return deleted
