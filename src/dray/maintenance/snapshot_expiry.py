"""Snapshot expiry: keeps tables small by expiring snapshots and deleting unreferenced files in their folders.

Without it every commit costs more than the previous one, because each reads and writes the whole history. So
snapshots are expired after a number of commits, and once more when a table has had no commit for the snapshot
retention time: files that only old snapshots reference are deleted eventually, so an idle table would keep
snapshots that can no longer be read. The state of a table before this process started is unknown, so each is
expired once. Later it is expired whenever its folder is swept, because other engines may commit to it.

Metadata is deleted in two ways. Files released by an expiry are deleted at once: every snapshot that
referenced them was replaced long enough ago for its readers to have finished. Files that were never
referenced, or were released by an expiry that did not finish, are found by listing the table's own folder,
and must be days old, so that no commit in progress can still reference them; so are data files written by
other engines. Before either deletion, the table's reachable files are read.

Our own data files are not deleted here: the index may reference them, and only the sweep checks it.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from dray.compaction.metrics import CompactionMetrics
from dray.compaction.settings import CompactionSettings
from dray.maintenance.table_files import delete_all, table_files, unreferenced
from dray.objects.port import ObjectStore
from dray.runtime import Clock
from dray.tables.names import is_topics_folder, metadata_folder, overlap
from dray.tables.port import Listing, StaleView, TableAltered, TableMissing, Tables, TopicTable


@dataclass(slots=True)
class _Due:
    """Changes to a table since its last expiry."""

    commits: int
    changed_ms: int | None
    """When the last commit was seen; None once the snapshots that it replaced have expired."""
    listed_ms: int | None = None
    """When its folder was last swept."""


class SnapshotExpiry:
    """Expires snapshots and sweeps table folders; keeps only schedules in memory."""

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

    def set_listing(self, listed: Listing | None) -> None:
        """Set where tables are. Nothing is deleted in a folder that two tables share, such as after one was
        registered twice; and nothing at all while the location of any table is unknown."""
        self._folders = listed.folders if listed is not None and listed.is_whole else None

    async def after_commits(self, table: TopicTable, commits: int) -> None:
        """Expire and sweep what is due after `commits` more commits; for a new process everything is due."""
        now_ms = self._clock.now_ms()
        due = self._due.setdefault(table, _Due(self._settings.snapshot_expiry_commits, now_ms))
        if not commits:
            await self._expire_idle(table, due, now_ms)
            return
        due.commits += commits
        due.changed_ms = now_ms
        if due.commits >= self._settings.snapshot_expiry_commits:
            with suppress(StaleView):  # a concurrent commit: retry next time
                await self.expire(table)
                due.commits = 0
        if self._is_sweep_due(due, now_ms):
            await self.sweep(table)
            due.listed_ms = now_ms

    def forget_all_but(self, tables: Iterable[TopicTable]) -> None:
        """Drop the schedules of tables other than these."""
        kept = set(tables)
        self._due = {table: due for table, due in self._due.items() if table in kept}

    async def _expire_idle(self, table: TopicTable, due: _Due, now_ms: int) -> None:
        """Expire the snapshots that the last commits have replaced, once all are old enough, and with every
        sweep of the folder those that other engines have added since."""
        is_sweep_due = self._is_sweep_due(due, now_ms)
        if due.changed_ms is None and not is_sweep_due:
            return
        if due.changed_ms is not None and now_ms <= due.changed_ms + self._settings.snapshot_age_ms_max:
            return
        due.changed_ms = now_ms  # after a failure, do not retry in the next pass
        with suppress(StaleView):
            with suppress(TableMissing):  # most likely a topic without records
                await self.expire(table)
                if is_sweep_due:
                    await self.sweep(table)
            due.changed_ms, due.commits = None, 0
            due.listed_ms = now_ms if is_sweep_due else due.listed_ms

    def _is_sweep_due(self, due: _Due, now_ms: int) -> bool:
        return due.listed_ms is None or due.listed_ms <= now_ms - self._settings.table_sweep_interval_ms

    async def expire(self, table: TopicTable) -> int:
        """Expire old snapshots and delete the files that only they referenced; returns how many."""
        older_than_ms = self._clock.now_ms() - self._settings.snapshot_age_ms_max
        try:
            expired = await self._tables.expire(table, older_than_ms)
        except TableAltered:
            return 0  # the round reports it
        self._metrics.tables.expired_snapshots.inc(expired.snapshots)
        folder = await self._own_folder(table) if expired.metadata_files else None
        if folder is None:
            return 0
        ours = [path for path in expired.metadata_files if path.startswith(metadata_folder(folder))]
        return await self._delete(table, folder, ours, data=False)

    async def sweep(self, table: TopicTable) -> int:
        """Delete old unreferenced files; lists the table's folder, so it should run rarely."""
        oldest_ms = self._clock.now_ms() - self._settings.table_orphan_ttl_ms
        folder = await self._own_folder(table)
        if folder is None:
            return 0
        # Listed before the table is read: files of concurrent commits are not on the list.
        found = table_files(self._objects, folder)
        old = [info.path async for info in found if info.modified_ms <= oldest_ms]
        return await self._delete(table, folder, old, data=True)

    async def _own_folder(self, table: TopicTable) -> str | None:
        """Return the table's folder, or None if it may not be the table's own: then nothing is deleted."""
        folder = await self._tables.folder(table)
        if self._folders is None or not is_topics_folder(folder, table.topic):
            return None
        return folder if sum(overlap(folder, one) for one in self._folders) <= 1 else None

    async def _delete(self, table: TopicTable, folder: str, paths: Sequence[str], *, data: bool) -> int:
        """Delete the paths that the table does not reach; with `data`, its data files are read too, which is
        slower."""
        if not paths:
            return 0
        reached = await self._tables.reachable(table, data=data)
        if not any(path.startswith(metadata_folder(folder)) for path in reached):
            return 0  # another table by now: the one in this folder was renamed
        deleted = await delete_all(self._objects, unreferenced(paths, reached), table.topic)
        self._metrics.tables.swept_table_files.inc(deleted)
        return deleted
