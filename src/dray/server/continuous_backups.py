"""Continuous backups of a broker, as the settings describe them."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Final

from dray.backup.continuous import BackupDeps, BackupSchedule, ContinuousBackup
from dray.backup.metrics import BackupMetrics
from dray.objects.url import parse_storage_url
from dray.observe import get_logger
from dray.runtime import Threads
from dray.server.metadata_backups import saver
from dray.server.store_urls import SQLITE
from dray.server.stores import ProcessContext, Stores
from dray.settings import DraySettings

_INTERVAL_MS: Final = 180_000
_REST: Final = 2.0
"""A backup uses a third of the time, and takes three times as long."""
_log = get_logger("server")


def backup_schedule(settings: DraySettings) -> BackupSchedule | None:
    """Return the schedule of continuous backups, or None if they are off."""
    metadata = settings.metadata
    interval_ms = metadata.backup_interval_ms
    if interval_ms is None:
        is_local = parse_storage_url(settings.storage.url).scheme in ("file", "memory")
        interval_ms = _INTERVAL_MS if metadata.url.startswith(SQLITE) and not is_local else 0
    return BackupSchedule(interval_ms, metadata.backups_kept) if interval_ms else None


def start_backups(
    settings: DraySettings,
    stores: Stores,
    context: ProcessContext,
    stopping: AsyncExitStack,
    *,
    is_mine: Callable[[], bool],
) -> None:
    """Save the metadata at an interval until the broker stops, as long as `is_mine` returns true."""
    metrics = BackupMetrics.on(context.metrics)
    schedule = backup_schedule(settings)
    if schedule is None:
        return
    _warn_if_long(settings, schedule.interval_ms)
    threads = Threads("backup", 1)
    stopping.push_async_callback(threads.stop)
    made = saver(settings, stores.meta, context, threads=threads, rest=_REST)
    deps = BackupDeps(made, stores.meta, stores.objects, context.clock, metrics)
    backup = ContinuousBackup(deps, schedule, is_mine)
    saving = context.tasks.every(schedule.tick_s, backup.step, name="backup-metadata", clock=context.clock)
    stopping.callback(saving.cancel)


def _warn_if_long(settings: DraySettings, interval_ms: int) -> None:
    grace_ms = min(settings.log.wal_gc_grace_ms, settings.log.file_gc_grace_ms)
    if 2 * interval_ms > grace_ms:
        _log.warning(
            "backup_interval_long",
            interval_ms=interval_ms,
            remedy="objects that a backup names may be deleted before the next one is made: set "
            f"metadata.backup_interval_ms to half of the log's grace periods ({grace_ms} ms) or less",
        )
