"""Sees every commit, every deletion and every change of a table as it happens, and checks the rules at once.

I1  the readable offsets have an entry each: no hole and no overlap, ever
I2  nothing readable is given up unless somebody asked or the retention says so
I5  no object is deleted that the index names; how often it does is counted right
T1  what the index has in Parquet is in the table, once
T2  the table's rows are the stream's records; only those that were trimmed leave it
T3  no file is deleted that the table names, nor before the grace for its readers is over
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields

from dray.ids import StreamId, TopicRef
from dray.index import FILES_PREFIX, IndexEntry, ParquetEntry, StreamHead
from dray.log import LogSettings
from dray.meta.port import Write
from dray.objects.port import NotFound
from dray.records import Record
from dray.runtime import Clock
from dray.sweep import RetentionPolicy
from dray.tables.port import LiveFile, TopicTable
from dray.testing.sim.history import History
from dray.testing.sim.tables.mirror import Change, Mirror
from dray.testing.sim.tables.records import Drafts
from dray.testing.sim.tables.rows import rows_of

_SKEW_MS = 150
"""By how much two processes' clocks differ at most."""


@dataclass(frozen=True, slots=True)
class Place:
    """The topic and partition that a stream is."""

    topic: TopicRef
    partition: int
    policy: RetentionPolicy

    @property
    def table(self) -> TopicTable:
        return TopicTable(self.topic.name, self.topic.topic_id.hex())


@dataclass(slots=True)
class Counts:
    """How much of everything happened."""

    crashes: int = 0
    swaps: int = 0
    merges: int = 0
    """Swaps that replaced Parquet files."""
    table_commits: int = 0
    tables_dropped: int = 0
    trims: int = 0
    objects_deleted: int = 0
    files_deleted: int = 0
    reads: int = 0
    reads_across_a_swap: int = 0
    reads_in_vain: int = 0
    """Requests for objects that were gone: whoever sent them had to look again."""
    snapshots_read: int = 0
    jobs_lost: int = 0
    """Rounds that found another compactor at their work."""

    def add(self, other: "Counts") -> None:
        for one in fields(Counts):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))

    @property
    def missing(self) -> list[str]:
        """What never happened."""
        return [one.name for one in fields(Counts) if not getattr(self, one.name)]


@dataclass(slots=True)
class _Table:
    files: dict[str, LiveFile] = field(default_factory=dict)
    offsets: dict[int, Counter[int]] = field(default_factory=dict)
    """How often each offset is in the table, by partition."""


class Onlooker:
    """Knows everything and does nothing."""

    def __init__(self, history: History, drafts: Drafts, clock: Clock, settings: LogSettings) -> None:
        self.counts = Counts()
        self.mirror = Mirror()
        self.places: dict[StreamId, Place] = {}
        self.swaps: Counter[StreamId] = Counter()
        self.read_file: Callable[[str], bytes] = _nothing
        self.job_changed: Callable[[], None] = _ignored
        self._history = history
        self._drafts = drafts
        self._clock = clock
        self._settings = settings
        self._tables: dict[TopicTable, _Table] = {}
        self._rows: dict[str, list[tuple[int, Record]]] = {}
        self._left_table_ms: dict[str, int] = {}

    # The index

    def committed(self, writes: Sequence[Write]) -> None:
        if any("/compaction/jobs/" in write.key for write in writes):
            self.job_changed()
        changes = self.mirror.apply(writes)
        for wrong in self.mirror.miscounted(writes):
            self._history.complain(f"I5: {wrong}")
        for stream, change in changes.items():
            if change.head is not None and change.head_before is not None:
                self._check_start(stream, change.head_before, change.head)
            if stream in self._history.deleted or change.head is None or stream not in self.places:
                continue
            if any(isinstance(entry, ParquetEntry) for entry in change.added):
                self._swapped(stream, change)
            else:
                self._check_removed(stream, change.head, change.removed)

    def _swapped(self, stream: StreamId, change: Change) -> None:
        self.swaps[stream] += 1
        self.counts.swaps += 1
        self.counts.merges += any(isinstance(entry, ParquetEntry) for entry in change.removed)
        self._history.note(f"swap {stream}: {_ranges(change.removed)} by {_ranges(change.added)}")
        for hole in self.mirror.holes(stream):
            self._history.complain(f"I1: {stream}: after a swap {hole}")
        self._check_tabled(stream)

    def _check_removed(self, stream: StreamId, head: StreamHead, removed: Sequence[IndexEntry]) -> None:
        for entry in removed:
            if entry.end_offset > head.log_start:
                self._history.complain(f"I2: {stream}: readable {_ranges([entry])} left the index, {head}")

    def _check_start(self, stream: StreamId, before: StreamHead, head: StreamHead) -> None:
        if head.deleted and stream not in self._history.deleted:
            self._history.complain(f"I2: {stream} was deleted, and nobody asked for it")
        if head.log_start <= before.log_start or head.deleted:
            return
        self.counts.trims += 1
        asked = self._history.trimmed_to.get(stream, 0)
        if head.log_start > asked:
            self._check_retention(stream, asked, head)
            self._history.trimmed_to[stream] = head.log_start
        self._history.note(f"start of {stream}: {head.log_start}, asked for {asked}")

    def _check_retention(self, stream: StreamId, asked: int, head: StreamHead) -> None:
        """Whatever was given up must have been too old, or too much.

        An entry that is given up in part is left out: it was put there while the retention looked.
        """
        policy, now_ms = self.places[stream].policy, self._clock.now_ms() + _SKEW_MS
        for entry in self.mirror.entries(stream):
            if not asked < entry.end_offset <= head.log_start:
                continue
            old = policy.retention_ms >= 0 and entry.max_timestamp_ms < now_ms - policy.retention_ms
            much = 0 <= policy.retention_bytes <= head.cumulative_size - entry.cumulative_size
            if not (old or much):
                self._history.complain(f"I2: {stream}: {_ranges([entry])} was given up too early, {head}")

    # The table

    def tabled(self, table: TopicTable, files: Iterable[LiveFile]) -> None:
        """The table has these files now."""
        self.counts.table_commits += 1
        before = self._tables.get(table, _Table())
        now = self._tables[table] = _Table({file.path: file for file in files})
        self._left(before.files.keys() - now.files.keys())
        for path in sorted(now.files.keys() - before.files.keys()):
            self._look_into(now.files[path])
        for path in now.files:
            for partition, record in self._rows[path]:
                now.offsets.setdefault(partition, Counter())[record.offset] += 1
        self._history.note(f"table {table.topic}: {_held(now.files.values())}")
        for stream, place in self.places.items():
            if place.table == table and stream not in self._history.deleted:
                self._check_rows(stream, place, before, now)
                self._check_tabled(stream)

    def appended(self, table: TopicTable, again: Sequence[str]) -> None:
        """Files were appended; `again` are those that the table had: their rows are now in it twice."""
        if again:
            self._history.complain(f"T1: the table of {table.topic} got {again} again")

    def dropped(self, table: TopicTable) -> None:
        known = self._tables.pop(table, None)
        if known is None:
            return
        self.counts.tables_dropped += 1
        self._history.note(f"table {table.topic}: dropped")
        if any(
            place.table == table and stream not in self._history.deleted
            for stream, place in self.places.items()
        ):
            self._history.complain(f"T2: the table of {table.topic} was dropped, and the topic is there")

    def _left(self, paths: Iterable[str]) -> None:
        now_ms = self._clock.now_ms()
        self._left_table_ms.update(dict.fromkeys(sorted(paths), now_ms))

    def _look_into(self, file: LiveFile) -> None:
        if file.path not in self._rows:
            self._rows[file.path] = self._read(file.path)
        rows = self._rows[file.path]
        if not rows:
            return
        wrong = [said for _, record in rows if (said := self._drafts.difference(record)) is not None]
        offsets = [record.offset for _, record in rows]
        if {partition for partition, _ in rows} != {file.partition} or len(rows) != file.records:
            wrong.append(f"{len(rows)} rows, the table says {file}")
        if (
            offsets != sorted(set(offsets))
            or offsets[0] != file.first_offset
            or offsets[-1] != file.last_offset
        ):
            wrong.append(f"offsets {offsets}, the table says {file}")
        for said in wrong:
            self._history.complain(f"T2: {file.path}: {said}")

    def _read(self, path: str) -> list[tuple[int, Record]]:
        try:
            return rows_of(self.read_file(path))
        except NotFound:
            self._history.complain(f"T3: {path} came into the table, and there is no such object")
            return []

    def _check_rows(self, stream: StreamId, place: Place, before: _Table, now: _Table) -> None:
        offsets = now.offsets.get(place.partition, Counter())
        twice = sorted(offset for offset, times in offsets.items() if times > 1)
        if twice:
            self._history.complain(f"T1: {stream}: {place} has {twice} more than once")
        left = sorted(offset for offset in offsets if offset >= self.mirror.heads[stream].log_start)
        if left and len(left) != left[-1] - left[0] + 1:
            self._history.complain(f"T1: {stream}: {place} has a hole: {left}")
        lost = sorted(before.offsets.get(place.partition, Counter()).keys() - offsets.keys())
        if lost and lost[-1] >= self.mirror.heads[stream].log_start:
            self._history.complain(f"T2: {stream}: {place} has lost {lost}, {self.mirror.heads[stream]}")

    def _check_tabled(self, stream: StreamId) -> None:
        place, head = self.places[stream], self.mirror.heads[stream]
        table = self._tables.get(place.table, _Table())
        offsets = table.offsets.get(place.partition, Counter())
        for entry in self.mirror.entries(stream):
            if isinstance(entry, ParquetEntry):
                span = range(max(entry.start_offset, head.log_start), entry.end_offset)
                if any(offset not in offsets for offset in span):
                    self._history.complain(
                        f"T1: {stream}: {_ranges([entry])} is in Parquet, the table has {sorted(offsets)}"
                    )

    # The bucket

    def deleted(self, path: str) -> None:
        is_file = path.startswith(FILES_PREFIX)
        self.counts.files_deleted += is_file
        self.counts.objects_deleted += not is_file
        now_ms = self._clock.now_ms() + _SKEW_MS
        if self.mirror.times_named(path):
            self._history.complain(f"I5: {path} was deleted, and the index names it")
        if any(path in table.files for table in self._tables.values()):
            self._history.complain(f"T3: {path} was deleted, and the table names it")
        if now_ms < self.mirror.marks.get(path, 0):
            self._history.complain(f"I5: {path} was deleted {self.mirror.marks[path] - now_ms} ms too early")
        if path in self._left_table_ms:
            age_ms = now_ms - self._left_table_ms[path]
            if age_ms < self._settings.file_gc_grace_ms:
                self._history.complain(f"T3: {path} was deleted {age_ms} ms after it left the table")

    # At the end

    def in_table(self, table: TopicTable) -> dict[str, LiveFile]:
        return self._tables.get(table, _Table()).files

    def offsets_in_table(self, place: Place) -> list[int]:
        table = self._tables.get(place.table, _Table())
        return sorted(table.offsets.get(place.partition, Counter()).elements())


def _ranges(entries: Iterable[IndexEntry]) -> str:
    return ", ".join(
        f"{'file' if isinstance(entry, ParquetEntry) else 'wal'} {entry.start_offset}-{entry.end_offset}"
        for entry in entries
    )


def _held(files: Iterable[LiveFile]) -> str:
    return ", ".join(sorted(f"{file.partition}: {file.first_offset}-{file.last_offset}" for file in files))


def _nothing(path: str) -> bytes:
    raise LookupError(path)


def _ignored() -> None:
    """Nobody is interested."""
