"""Which ranges of a stream are to be rewritten: decided here, carried out by the workers. Pure.

Two kinds of work. WAL ranges become Parquet files as soon as they are old, large or many enough. Neighbouring
small files become larger ones when enough have gathered, smallest first, and when none of them outweighs the
others together: whenever a record is rewritten, its file becomes twice as large, or is cut at full size;
neither can go on for long.

Retention gives up whole files, from the front. Were old records merged with new ones again and again, none
would ever go; so files keep within the steps of a `Grain`. When a step is over, the small files that are left
in it are merged too.

Nothing at or behind the producer snapshot is touched: producer state is rebuilt from the entries behind it.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Final

from dray.cluster.configs import TopicConfig
from dray.index import IndexEntry, ParquetEntry, StreamHead, WalEntry
from dray.pipeline.settings import CompactionSettings

_STEP_MS_MIN: Final = 60_000
"""Retention is looked at no more often: finer steps would only make more files."""
_STEP_BYTES_MIN: Final = 1 << 20
"""As small as a segment may be in Kafka."""
_FILES_AT_ONCE: Final = 500
_ENTRIES_AT_ONCE: Final = 20_000
"""What one job does to a stream comes into the index in one commit, for which others wait."""
_MERGED_AT_ONCE: Final = 20
"""Files that one job makes of others: new records wait until it is done."""


@dataclass(frozen=True, slots=True)
class Span:
    """Neighbouring entries that become one file."""

    entries: tuple[IndexEntry, ...]
    first_offset: int
    """The first offset to be kept: the log may start inside the first entry."""

    @property
    def start_offset(self) -> int:
        return self.entries[0].start_offset

    @property
    def end_offset(self) -> int:
        return self.entries[-1].end_offset


@dataclass(frozen=True, slots=True)
class Grain:
    """How much longer, and how much more, retention may keep than it must; None is without end."""

    ms: int | None = None
    size_bytes: int | None = None

    def step(self, entry: IndexEntry) -> tuple[int, int]:
        """Where on the scales of time and size an entry lies; both only rise along a stream."""
        return (
            entry.running_max_timestamp_ms // self.ms if self.ms else 0,
            entry.cumulative_size // self.size_bytes if self.size_bytes else 0,
        )


ANY_GRAIN: Final = Grain()


def grain_of(config: TopicConfig) -> Grain:
    """Return the grain of a topic: a segment, as in Kafka, and not more than what is to be kept."""
    if not config.is_deleted:
        return ANY_GRAIN
    return Grain(
        _grain(config.whole("retention.ms"), config.whole("segment.ms"), _STEP_MS_MIN),
        _grain(config.whole("retention.bytes"), config.whole("segment.bytes"), _STEP_BYTES_MIN),
    )


def _grain(kept: int, segment: int, least: int) -> int | None:
    return max(least, min(kept, segment)) if kept >= 0 else None


def wal_spans(
    head: StreamHead, entries: Iterable[IndexEntry], settings: CompactionSettings, now_ms: int, grain: Grain
) -> list[Span]:
    """Return the WAL ranges to be compacted now, each as large as a file should become.

    The first of them, if there are very many: the rest waits for the next turn.
    """
    within = [entry for entry in entries if entry.end_offset <= head.snapshot_end]
    return _at_once(
        _span(head, part)
        for kind, run in groupby(within, key=type)
        if kind is WalEntry and _due(waiting := list(run), settings, now_ms)
        for _, together in groupby(waiting, key=grain.step)
        for part in _cut(together, settings)
    )


def wants_snapshot(
    head: StreamHead, entries: Sequence[IndexEntry], settings: CompactionSettings, now_ms: int
) -> bool:
    """Whether WAL ranges are due that only lack a producer snapshot."""
    behind = [entry for entry in entries if entry.end_offset > head.snapshot_end]
    return bool(behind) and _due(behind, settings, now_ms)


def merge_spans(
    head: StreamHead,
    entries: Sequence[IndexEntry],
    settings: CompactionSettings,
    grain: Grain,
    replaceable: Container[str] | None = None,
) -> list[Span]:
    """Return the files to be merged now, and a file that begins before the log does.

    Those that are not among the `replaceable` are left alone, if it is known which are.
    """
    if not entries:
        return []
    to_come = next((entry for entry in entries if isinstance(entry, WalEntry)), entries[-1])
    unfinished = grain.step(to_come)

    def place(entry: IndexEntry) -> tuple[bool, tuple[int, int]]:
        return _is_free(entry, replaceable), grain.step(entry)

    spans = (
        _span(head, part)
        for (free, step), run in groupby(entries, key=place)
        if free
        for part in _merges(head, _files(run), settings, is_over=step < unfinished)
    )
    return _at_once(islice(spans, _MERGED_AT_ONCE))


def _is_free(entry: IndexEntry, replaceable: Container[str] | None) -> bool:
    """Whether it is a file that may be merged; one without rows is in no table."""
    if not isinstance(entry, ParquetEntry):
        return False
    return replaceable is None or not entry.record_count or entry.path in replaceable


def _files(entries: Iterable[IndexEntry]) -> list[ParquetEntry]:
    return [entry for entry in entries if isinstance(entry, ParquetEntry)]


def _at_once(spans: Iterable[Span]) -> list[Span]:
    """Return as many of the spans as one job should take."""
    taken: list[Span] = []
    entries = 0
    for span in spans:
        entries += len(span.entries)
        if taken and (len(taken) == _FILES_AT_ONCE or entries > _ENTRIES_AT_ONCE):
            break
        taken.append(span)
    return taken


def _span(head: StreamHead, entries: Sequence[IndexEntry]) -> Span:
    return Span(tuple(entries), max(entries[0].start_offset, head.log_start))


def _due(waiting: Sequence[IndexEntry], settings: CompactionSettings, now_ms: int) -> bool:
    return (
        waiting[0].created_at_ms <= now_ms - settings.wal_age_ms_max
        or len(waiting) >= settings.wal_entries_max
        or sum(entry.stored_bytes for entry in waiting) >= settings.wal_bytes_max
    )


def _cut(entries: Iterable[IndexEntry], settings: CompactionSettings) -> Iterator[list[IndexEntry]]:
    part: list[IndexEntry] = []
    size = 0
    for entry in entries:
        too_much = (
            size + entry.stored_bytes > settings.file_bytes or len(part) >= settings.entries_per_file_max
        )
        if part and too_much:
            yield part
            part, size = [], 0
        part.append(entry)
        size += entry.stored_bytes
    if part:
        yield part


def _merges(
    head: StreamHead, files: Sequence[ParquetEntry], settings: CompactionSettings, *, is_over: bool
) -> Iterator[Sequence[IndexEntry]]:
    """Look for what is to be merged among the neighbours of one step."""
    if files[0].start_offset < head.log_start:
        yield files[:1]
        files = files[1:]
    half = settings.file_bytes // 2
    runs = _small_runs(files, half) if is_over else [_mergeable(files, half, settings.merge_files_min)]
    yield from (part for run in runs for part in _cut(run, settings) if len(part) > 1)


def _mergeable(files: Sequence[ParquetEntry], limit: int, count_min: int) -> list[ParquetEntry]:
    """Return the first run of enough neighbours, looked for among the smallest files first."""
    limits = [limit]
    while limits[-1] > 1:
        limits.append(limits[-1] // count_min)
    runs = (run for limit in reversed(limits) for run in _small_runs(files, limit))
    return next((found for run in runs if (found := _balanced(run, count_min))), [])


def _small_runs(files: Sequence[ParquetEntry], limit: int) -> Iterator[list[ParquetEntry]]:
    runs = groupby(files, key=lambda file: file.size_bytes <= limit)
    return (list(run) for is_small, run in runs if is_small)


def _balanced(files: list[ParquetEntry], count_min: int) -> list[ParquetEntry]:
    """Return enough neighbours of which none outweighs the others together, if there are."""
    if len(files) < count_min:
        return []
    largest = max(range(len(files)), key=lambda one: files[one].came_bytes)
    if 2 * files[largest].came_bytes <= sum(file.came_bytes for file in files):
        return files
    return _balanced(files[:largest], count_min) or _balanced(files[largest + 1 :], count_min)
