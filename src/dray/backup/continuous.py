"""Continuous backups: one broker of the cluster saves the metadata to the object store at an interval.

Every broker runs this; the live one with the lowest id saves. While brokers disagree on which one that is,
two may save. Names are unique, so that costs one more backup and nothing else.

A backup is skipped if the store has not changed since the last one of this process. Old backups are deleted
after a new one is complete, and so is what a process that died has left of one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from dray.backup.errors import BackupError
from dray.backup.metrics import BackupMetrics
from dray.backup.places import ObjectSink, delete_backup, saved_backups
from dray.backup.save import Saved, Saver
from dray.meta.port import MetaError, MetaStore
from dray.objects.port import ObjectError, ObjectStore
from dray.observe import get_logger
from dray.runtime import Clock

_LEFTOVER_MS: Final = 6 * 3_600_000
_log: Final = get_logger("backup")


@dataclass(frozen=True, slots=True)
class BackupSchedule:
    """How often to save, and how many backups to keep."""

    interval_ms: int
    kept: int

    @property
    def tick_s(self) -> float:
        """How often to look whether a backup is due; a failed one is repeated that soon."""
        return self.interval_ms / 4_000


@dataclass(frozen=True, slots=True)
class BackupDeps:
    """What continuous backups need; `objects` retries."""

    saver: Saver
    meta: MetaStore
    objects: ObjectStore
    clock: Clock
    metrics: BackupMetrics


class ContinuousBackup:
    """The backups of one broker; `is_mine` says whether it is the one that saves."""

    def __init__(self, deps: BackupDeps, schedule: BackupSchedule, is_mine: Callable[[], bool]) -> None:
        self._saver = deps.saver
        self._meta = deps.meta
        self._objects = deps.objects
        self._clock = deps.clock
        self._metrics = deps.metrics
        self._schedule = schedule
        self._is_mine = is_mine
        self._done_ms: int | None = None
        """When the last backup began; None if it may have been another broker's."""
        self._position: int | None = None

    async def step(self) -> None:
        """Save if it is this broker's task and a backup is due; a failure is reported."""
        if not self._is_mine():
            self._done_ms = None
            self._metrics.last_success_seconds.set(0)
            return
        began_ms = self._clock.now_ms()
        try:
            if await self._is_due(began_ms):
                await self._save(began_ms)
        except (BackupError, MetaError, ObjectError) as error:
            self._metrics.failures.inc()
            _log.error("metadata_backup_failed", error=str(error), retry_in_s=self._schedule.tick_s)

    async def _is_due(self, now_ms: int) -> bool:
        if self._done_ms is None:
            saved = await saved_backups(self._objects)
            self._position = None
            self._done_ms = saved[-1].modified_ms if saved else 0
        if now_ms - self._done_ms < self._schedule.interval_ms:
            return False
        if self._position is not None:
            async with self._meta.snapshot() as snapshot:
                if snapshot.position == self._position:
                    self._succeeded(now_ms)
                    return False
        return True

    async def _save(self, began_ms: int) -> None:
        started = self._clock.monotonic()
        saved = await self._saver.save(partial(ObjectSink, self._objects))
        seconds = self._clock.monotonic() - started
        self._position = saved.position
        self._succeeded(began_ms)
        self._metrics.seconds.observe(seconds)
        self._metrics.size_bytes.set(saved.size_bytes)
        _log.info(
            "metadata_saved",
            backup=saved.backup_id,
            keys=saved.records,
            bytes=saved.size_bytes,
            seconds=round(seconds, 3),
        )
        await self._delete_old(saved)

    def _succeeded(self, at_ms: int) -> None:
        self._done_ms = at_ms
        self._metrics.last_success_seconds.set(at_ms / 1000)

    async def _delete_old(self, newest: Saved) -> None:
        """Delete backups beyond those to keep; a later one of another process is never touched."""
        older = [one for one in await saved_backups(self._objects) if one.backup_id < newest.backup_id]
        for one in older[: max(0, len(older) + 1 - self._schedule.kept)]:
            await delete_backup(self._objects, one.backup_id)
        oldest_ms = self._clock.now_ms() - _LEFTOVER_MS
        for one in await saved_backups(self._objects, incomplete=True):
            if one.modified_ms <= oldest_ms:
                await delete_backup(self._objects, one.backup_id)
