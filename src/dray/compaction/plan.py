"""Compaction plan: which ranges of a stream are rewritten as files. Pure; the workers carry it out.

There are two kinds of work:

- WAL ranges become Parquet files once they are old, large or numerous enough.
- Adjacent small files are merged into larger ones once there are enough of them, smallest first, and only if
  none of them outweighs the others together. So each rewrite at least doubles the size of a record's file, or
  the file has reached full size; either way a record is rewritten only a few times.

Retention deletes whole files, oldest first. If old records were merged with new ones again and again, no file
would ever expire, so a file stays within one of the `RetentionWindows`. Once a window is over, the small
files left in it are merged too.

Entries that cannot be converted are skipped (`skipped`): no file extends across them.

Entries after the producer snapshot are not touched: producer state is rebuilt from them.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Final

from dray.cluster.configs import TopicConfig
from dray.compaction.settings import CompactionSettings
from dray.index import IndexEntry, ParquetEntry, StreamHead, WalEntry

_WINDOW_MS_MIN: Final = 60_000
"""Retention runs no more often than this, so shorter windows would only create more files."""
_WINDOW_BYTES_MIN: Final = 1 << 20
"""Kafka's minimum segment size."""
_FILES_MAX: Final = 500
"""Limits of one job on a stream: it enters the index in one commit, and other commits wait for that one."""
_MERGES_MAX: Final = 20
"""Maximum number of merged files per job: new records wait until the job is done."""


@dataclass(frozen=True, slots=True)
class FilePlan:
    """Adjacent entries that become one file."""

    entries: tuple[IndexEntry, ...]
    first_offset: int
    """The first offset to keep: the log may start inside the first entry."""

    @property
    def start_offset(self) -> int:
        return self.entries[0].start_offset

    @property
    def end_offset(self) -> int:
        return self.entries[-1].end_offset


@dataclass(frozen=True, slots=True)
class RetentionWindows:
    """Windows of time and size along a stream, within which files are merged; None is a single window.

    Their extent is how much longer, and how much more, retention may keep records than configured.
    """

    ms: int | None = None
    size_bytes: int | None = None

    def window(self, entry: IndexEntry) -> tuple[int, int]:
        """Return the window of an entry, by time and by size; both numbers only increase along a stream."""
        return (
            entry.running_max_timestamp_ms // self.ms if self.ms else 0,
            entry.cumulative_size // self.size_bytes if self.size_bytes else 0,
        )


UNLIMITED_WINDOW: Final = RetentionWindows()


def retention_windows(config: TopicConfig) -> RetentionWindows:
    """Return a topic's windows: the extent of a Kafka segment, but no more than retention keeps."""
    if not config.is_deleted:
        return UNLIMITED_WINDOW
    return RetentionWindows(
        _extent(config.whole("retention.ms"), config.whole("segment.ms"), _WINDOW_MS_MIN),
        _extent(config.whole("retention.bytes"), config.whole("segment.bytes"), _WINDOW_BYTES_MIN),
    )


def _extent(kept: int, segment: int, minimum: int) -> int | None:
    return max(minimum, min(kept, segment)) if kept >= 0 else None


def _single_segment(_: IndexEntry) -> int:
    return 0


def plan_wal_files(
    head: StreamHead,
    entries: Iterable[IndexEntry],
    settings: CompactionSettings,
    now_ms: int,
    windows: RetentionWindows,
    *,
    skipped: Container[int] = (),
    number: Callable[[IndexEntry], int] = _single_segment,
) -> list[FilePlan]:
    """Return the WAL ranges that are due, each of the size of one file.

    Limited to the first ones if there are very many; the rest waits for the next pass. Entries that end at an
    offset in `skipped` are left out. `number` is the notional segment of an entry; no range crosses segments.
    """
    within = [entry for entry in entries if entry.end_offset <= head.snapshot_end]

    def is_free(entry: IndexEntry) -> bool:
        return isinstance(entry, WalEntry) and entry.end_offset not in skipped

    plans = (
        _file_plan(head, group)
        for free, run in groupby(within, key=is_free)
        if free and _is_due(waiting := list(run), settings, now_ms)
        for _, together in groupby(waiting, key=lambda entry: (windows.window(entry), number(entry)))
        for group in _cut(together, settings)
    )
    return _limited(plans, settings)


def wants_snapshot(
    head: StreamHead, entries: Sequence[IndexEntry], settings: CompactionSettings, now_ms: int
) -> bool:
    """Return whether WAL ranges are due that only lack a producer snapshot."""
    after = [entry for entry in entries if entry.end_offset > head.snapshot_end]
    return bool(after) and _is_due(after, settings, now_ms)


def plan_merges(
    head: StreamHead,
    entries: Sequence[IndexEntry],
    settings: CompactionSettings,
    windows: RetentionWindows,
    replaceable: Container[str] | None = None,
    *,
    skipped: Container[int] = (),
    number: Callable[[IndexEntry], int] = _single_segment,
) -> list[FilePlan]:
    """Return the files to merge now, and a file that starts before the log start.

    Only `replaceable` files are considered, unless it is None. A window may be over although it still has WAL
    entries that end at an offset in `skipped`. `number` is the notional segment of an entry; no merge crosses
    segments.
    """
    if not entries:
        return []
    next_in_wal = next(
        (one for one in entries if isinstance(one, WalEntry) and one.end_offset not in skipped), entries[-1]
    )
    unfinished = windows.window(next_in_wal)

    def key(entry: IndexEntry) -> tuple[bool, tuple[int, int], int]:
        return _is_mergeable(entry, replaceable), windows.window(entry), number(entry)

    plans = (
        _file_plan(head, group)
        for (mergeable, window, _), run in groupby(entries, key=key)
        if mergeable
        for group in _merges(head, _files(run), settings, is_over=window < unfinished)
    )
    return _limited(islice(plans, _MERGES_MAX), settings)


def _is_mergeable(entry: IndexEntry, replaceable: Container[str] | None) -> bool:
    """Return whether an entry is a file that may be merged; a file without rows is not in the table."""
    if not isinstance(entry, ParquetEntry):
        return False
    return replaceable is None or not entry.record_count or entry.path in replaceable


def _files(entries: Iterable[IndexEntry]) -> list[ParquetEntry]:
    return [entry for entry in entries if isinstance(entry, ParquetEntry)]


def _limited(plans: Iterable[FilePlan], settings: CompactionSettings) -> list[FilePlan]:
    """Return the first plans, up to the limits of one job."""
    taken: list[FilePlan] = []
    entries = 0
    for plan in plans:
        entries += len(plan.entries)
        if taken and (len(taken) == _FILES_MAX or entries > settings.entries_per_job_max):
            break
        taken.append(plan)
    return taken


def _file_plan(head: StreamHead, entries: Sequence[IndexEntry]) -> FilePlan:
    return FilePlan(tuple(entries), max(entries[0].start_offset, head.log_start))


def _is_due(waiting: Sequence[IndexEntry], settings: CompactionSettings, now_ms: int) -> bool:
    age_ms = now_ms - waiting[0].created_at_ms
    return (
        abs(age_ms) >= settings.wal_age_ms_max  # it is negative if the broker's clock was ahead
        or len(waiting) >= settings.wal_entries_max
        or sum(entry.stored_bytes for entry in waiting) >= settings.wal_bytes_max
    )


def _cut(entries: Iterable[IndexEntry], settings: CompactionSettings) -> Iterator[list[IndexEntry]]:
    """Split entries into groups of the size of one file."""
    group: list[IndexEntry] = []
    size = 0
    for entry in entries:
        is_full = (
            size + entry.stored_bytes > settings.file_bytes_target
            or len(group) >= settings.entries_per_file_max
        )
        if group and is_full:
            yield group
            group, size = [], 0
        group.append(entry)
        size += entry.stored_bytes
    if group:
        yield group


def _merges(
    head: StreamHead, files: Sequence[ParquetEntry], settings: CompactionSettings, *, is_over: bool
) -> Iterator[Sequence[IndexEntry]]:
    """Yield the groups to merge among adjacent files of one window."""
    if files[0].start_offset < head.log_start:
        yield files[:1]
        files = files[1:]
    half = settings.file_bytes_target // 2
    runs = _small_runs(files, half) if is_over else [_first_mergeable(files, half, settings.merge_files_min)]
    yield from (group for run in runs for group in _cut(run, settings) if len(group) > 1)


def _first_mergeable(files: Sequence[ParquetEntry], limit: int, count_min: int) -> list[ParquetEntry]:
    """Return the first run of enough adjacent files, trying the smallest sizes first."""
    limits = [limit]
    while limits[-1] > 1:
        limits.append(limits[-1] // count_min)
    runs = (run for limit in reversed(limits) for run in _small_runs(files, limit))
    return next((found for run in runs if (found := _balanced(run, count_min))), [])


def _small_runs(files: Sequence[ParquetEntry], limit: int) -> Iterator[list[ParquetEntry]]:
    runs = groupby(files, key=lambda file: file.size_bytes <= limit)
    return (list(run) for is_small, run in runs if is_small)


def _balanced(files: list[ParquetEntry], count_min: int) -> list[ParquetEntry]:
    """Return enough adjacent files of which none outweighs the others together, or an empty list."""
    if len(files) < count_min:
        return []
    largest = max(range(len(files)), key=lambda one: files[one].ingested_bytes)
    if 2 * files[largest].ingested_bytes <= sum(file.ingested_bytes for file in files):
        return files
    return _balanced(files[:largest], count_min) or _balanced(files[largest + 1 :], count_min)
