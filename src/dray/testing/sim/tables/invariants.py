"""Invariants of index, tables and bucket, checked at every commit and every deletion.

I1  every readable offset has exactly one index entry: there are never holes or overlaps
I2  readable records are trimmed only on request or by retention
I5  no object that the index references is deleted; reference counts are correct
T1  records that the index has in Parquet are in the table once; a hole in the table is in the WAL
T2  the table's rows are the stream's records; only trimmed ones are removed from it
T3  no file of the table is deleted, nor a removed one before the grace period for readers ends
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields

from dray.ids import StreamId, TopicRef
from dray.index import FILES_PREFIX, IndexEntry, ParquetEntry, StreamHead, WalEntry
from dray.log import LogSettings
from dray.meta.port import Write
from dray.objects.port import NotFound
from dray.records import Record
from dray.runtime import Clock
from dray.sweep import RetentionPolicy
from dray.tables.port import LiveFile, TopicTable
from dray.testing.sim.history import History
from dray.testing.sim.tables.index_model import Change, IndexModel
from dray.testing.sim.tables.records import SentRecords, rows_of

_SKEW_MS = 150
"""Maximum difference between the clocks of two processes."""


@dataclass(frozen=True, slots=True)
class TopicPartition:
    """The partition that a stream belongs to, with its retention policy."""

    topic: TopicRef
    partition: int
    policy: RetentionPolicy

    @property
    def table(self) -> TopicTable:
        return TopicTable(self.topic.name, self.topic.topic_id.hex())


@dataclass(slots=True)
class Counts:
    """Numbers of events in a simulation, which show that its checks were exercised."""

    crashes: int = 0
    swaps: int = 0
    merges: int = 0
    """Swaps that replaced Parquet files."""
    skips: int = 0
    """Swaps that skipped WAL entries before a file."""
    table_commits: int = 0
    tables_dropped: int = 0
    trims: int = 0
    objects_deleted: int = 0
    files_deleted: int = 0
    reads: int = 0
    reads_across_a_swap: int = 0
    reads_not_found: int = 0
    """Reads of objects that had been deleted; the reader had to read the index again."""
    snapshots_read: int = 0
    jobs_lost: int = 0
    """Rounds that lost their job to another compactor."""

    def add(self, other: "Counts") -> None:
        for one in fields(Counts):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))

    @property
    def missing(self) -> list[str]:
        """Names of the events that never happened."""
        return [one.name for one in fields(Counts) if not getattr(self, one.name)]


@dataclass(slots=True)
class _Table:
    files: dict[str, LiveFile] = field(default_factory=dict)
    offsets: dict[int, Counter[int]] = field(default_factory=dict)
    """Number of rows per offset, by partition."""


class InvariantChecker:
    """Observes the shared stores and records violations of the invariants."""

    def __init__(
        self, history: History, sent_records: SentRecords, clock: Clock, settings: LogSettings
    ) -> None:
        self.counts = Counts()
        self.model = IndexModel()
        self.topic_partitions: dict[StreamId, TopicPartition] = {}
        self.swaps: Counter[StreamId] = Counter()
        self.read_file: Callable[[str], bytes] = _no_file
        self.on_job_change: Callable[[], None] = _ignore
        self._history = history
        self._sent_records = sent_records
        self._clock = clock
        self._settings = settings
        self._tables: dict[TopicTable, _Table] = {}
        self._rows: dict[str, list[tuple[int, Record]]] = {}
        self._removed_from_table_ms: dict[str, int] = {}

    # The index

    def on_commit(self, writes: Sequence[Write]) -> None:
        if any("/compaction/jobs/" in write.key for write in writes):
            self.on_job_change()
        changes = self.model.apply(writes)
        for discrepancy in self.model.miscounted(writes):
            self._history.violate(f"I5: {discrepancy}")
        for stream, change in changes.items():
            if change.head is not None and change.head_before is not None:
                self._check_start(stream, change.head_before, change.head)
            if stream in self._history.deleted or change.head is None or stream not in self.topic_partitions:
                continue
            if any(isinstance(entry, ParquetEntry) for entry in change.added):
                self._swapped(stream, change)
            else:
                self._check_removed(stream, change.head, change.removed)

    def _swapped(self, stream: StreamId, change: Change) -> None:
        self.swaps[stream] += 1
        self.counts.swaps += 1
        self.counts.merges += any(isinstance(entry, ParquetEntry) for entry in change.removed)
        before = (one for one in self.model.entries(stream) if one.end_offset < change.added[-1].end_offset)
        self.counts.skips += any(isinstance(entry, WalEntry) for entry in before)
        self._history.note(f"swap {stream}: {_ranges(change.removed)} by {_ranges(change.added)}")
        for hole in self.model.holes(stream):
            self._history.violate(f"I1: {stream}: after a swap {hole}")
        self._check_published(stream)

    def _check_removed(self, stream: StreamId, head: StreamHead, removed: Sequence[IndexEntry]) -> None:
        for entry in removed:
            if entry.end_offset > head.log_start:
                self._history.violate(f"I2: {stream}: readable {_ranges([entry])} left the index, {head}")

    def _check_start(self, stream: StreamId, before: StreamHead, head: StreamHead) -> None:
        if head.deleted and stream not in self._history.deleted:
            self._history.violate(f"I2: {stream} was deleted without a request")
        if head.log_start <= before.log_start or head.deleted:
            return
        self.counts.trims += 1
        requested = self._history.trimmed_to.get(stream, 0)
        if head.log_start > requested:
            self._check_retention(stream, requested, head)
            self._history.trimmed_to[stream] = head.log_start
        self._history.note(f"start of {stream}: {head.log_start}, requested {requested}")

    def _check_retention(self, stream: StreamId, requested: int, head: StreamHead) -> None:
        """Check that each entry that retention trimmed was too old, or beyond the size limit.

        An entry trimmed in part is not checked: a swap created it after retention had read the index.
        """
        policy, now_ms = self.topic_partitions[stream].policy, self._clock.now_ms() + _SKEW_MS
        for entry in self.model.entries(stream):
            if not requested < entry.end_offset <= head.log_start:
                continue
            old = policy.retention_ms >= 0 and entry.max_timestamp_ms < now_ms - policy.retention_ms
            much = 0 <= policy.retention_bytes <= head.cumulative_size - entry.cumulative_size
            if not (old or much):
                self._history.violate(f"I2: {stream}: {_ranges([entry])} was trimmed too early, {head}")

    # The table

    def on_table_commit(self, table: TopicTable, files: Iterable[LiveFile]) -> None:
        """A commit left the table with these files."""
        self.counts.table_commits += 1
        before = self._tables.get(table, _Table())
        now = self._tables[table] = _Table({file.path: file for file in files})
        self._note_removed(before.files.keys() - now.files.keys())
        for path in sorted(now.files.keys() - before.files.keys()):
            self._check_file(now.files[path])
        for path in now.files:
            for partition, record in self._rows[path]:
                now.offsets.setdefault(partition, Counter())[record.offset] += 1
        self._history.note(f"table {table.topic}: {_held(now.files.values())}")
        for stream, tp in self.topic_partitions.items():
            if tp.table == table and stream not in self._history.deleted:
                self._check_rows(stream, tp, before, now)
                self._check_published(stream)

    def on_append(self, table: TopicTable, again: Sequence[str]) -> None:
        """Files were appended; the table already had those in `again`, whose rows are now duplicated."""
        if again:
            self._history.violate(f"T1: {again} were appended to the table of {table.topic} again")

    def on_drop(self, table: TopicTable) -> None:
        known = self._tables.pop(table, None)
        if known is None:
            return
        self.counts.tables_dropped += 1
        self._history.note(f"table {table.topic}: dropped")
        if any(
            tp.table == table and stream not in self._history.deleted
            for stream, tp in self.topic_partitions.items()
        ):
            self._history.violate(f"T2: the table of {table.topic} was dropped, but the topic exists")

    def _note_removed(self, paths: Iterable[str]) -> None:
        now_ms = self._clock.now_ms()
        self._removed_from_table_ms.update(dict.fromkeys(sorted(paths), now_ms))

    def _check_file(self, file: LiveFile) -> None:
        if file.path not in self._rows:
            self._rows[file.path] = self._read_rows(file.path)
        rows = self._rows[file.path]
        if not rows:
            return
        found = [self._sent_records.difference(record) for _, record in rows]
        differences = [difference for difference in found if difference is not None]
        offsets = [record.offset for _, record in rows]
        if {partition for partition, _ in rows} != {file.partition} or len(rows) != file.records:
            differences.append(f"{len(rows)} rows, the table says {file}")
        if (
            offsets != sorted(set(offsets))
            or offsets[0] != file.first_offset
            or offsets[-1] != file.last_offset
        ):
            differences.append(f"offsets {offsets}, the table says {file}")
        for difference in differences:
            self._history.violate(f"T2: {file.path}: {difference}")

    def _read_rows(self, path: str) -> list[tuple[int, Record]]:
        try:
            return rows_of(self.read_file(path))
        except NotFound:
            self._history.violate(f"T3: {path} was added to the table, but there is no such object")
            return []

    def _check_rows(self, stream: StreamId, tp: TopicPartition, before: _Table, now: _Table) -> None:
        offsets = now.offsets.get(tp.partition, Counter())
        twice = sorted(offset for offset, times in offsets.items() if times > 1)
        if twice:
            self._history.violate(f"T1: {stream}: {tp} has {twice} more than once")
        left = sorted(offset for offset in offsets if offset >= self.model.heads[stream].log_start)
        if left and len(left) != left[-1] - left[0] + 1:
            hole = set(range(left[0], left[-1])) - set(left)
            for entry in self.model.entries(stream):
                if isinstance(entry, WalEntry):
                    hole -= set(range(entry.start_offset, entry.end_offset))
            if hole:
                self._history.violate(f"T1: {stream}: {tp} has a hole: {sorted(hole)}")
        lost = sorted(before.offsets.get(tp.partition, Counter()).keys() - offsets.keys())
        if lost and lost[-1] >= self.model.heads[stream].log_start:
            self._history.violate(f"T2: {stream}: {tp} has lost {lost}, {self.model.heads[stream]}")

    def _check_published(self, stream: StreamId) -> None:
        tp, head = self.topic_partitions[stream], self.model.heads[stream]
        table = self._tables.get(tp.table, _Table())
        offsets = table.offsets.get(tp.partition, Counter())
        for entry in self.model.entries(stream):
            if isinstance(entry, ParquetEntry):
                span = range(max(entry.start_offset, head.log_start), entry.end_offset)
                if any(offset not in offsets for offset in span):
                    self._history.violate(
                        f"T1: {stream}: {_ranges([entry])} is in Parquet, the table has {sorted(offsets)}"
                    )

    # The bucket

    def on_delete(self, path: str) -> None:
        is_file = path.startswith(FILES_PREFIX)
        self.counts.files_deleted += is_file
        self.counts.objects_deleted += not is_file
        now_ms = self._clock.now_ms() + _SKEW_MS
        if self.model.references(path):
            self._history.violate(f"I5: {path} was deleted, but the index references it")
        if any(path in table.files for table in self._tables.values()):
            self._history.violate(f"T3: {path} was deleted, but the table references it")
        early_ms = self.model.delete_after_ms.get(path, 0) - now_ms
        if early_ms > 0:
            self._history.violate(f"I5: {path} was deleted {early_ms} ms too early")
        if path in self._removed_from_table_ms:
            age_ms = now_ms - self._removed_from_table_ms[path]
            if age_ms < self._settings.file_gc_grace_ms:
                self._history.violate(f"T3: {path} was deleted {age_ms} ms after its removal from the table")

    # For the audit

    def in_table(self, table: TopicTable) -> dict[str, LiveFile]:
        return self._tables.get(table, _Table()).files

    def offsets_in_table(self, tp: TopicPartition) -> list[int]:
        table = self._tables.get(tp.table, _Table())
        return sorted(table.offsets.get(tp.partition, Counter()).elements())


def _ranges(entries: Iterable[IndexEntry]) -> str:
    return ", ".join(
        f"{'file' if isinstance(entry, ParquetEntry) else 'wal'} {entry.start_offset}-{entry.end_offset}"
        for entry in entries
    )


def _held(files: Iterable[LiveFile]) -> str:
    return ", ".join(sorted(f"{file.partition}: {file.first_offset}-{file.last_offset}" for file in files))


def _no_file(path: str) -> bytes:
    raise LookupError(path)


def _ignore() -> None: ...
