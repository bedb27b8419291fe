"""Findings about a stream: its head, its chain of entries, its topic. Pure."""

from dataclasses import dataclass
from typing import ClassVar, Final

from dray.check.findings import BACKUP, REPAIR, OfStream, Severity, delete_records
from dray.index import IndexEntry, StreamHead

_LOST: Final = Severity.LOST
_WRONG: Final = Severity.WRONG
_CONTRADICTED: Final = "not repaired while entries or head of the stream contradict each other"
_HELD: Final = (
    "a head is only rebuilt by a check of all topics that finds no unreferenced object in its meta domain; "
    "such an object may hold records that its entries lack"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _WrongEntries(OfStream):
    """Entries that contradict each other; only an older state of the metadata has better ones."""

    severity: ClassVar[Severity] = _WRONG

    @property
    def remedy(self) -> str:
        return f"{BACKUP}, or {delete_records(self.end)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap(_WrongEntries):
    """No entry covers readable offsets."""

    name: ClassVar[str] = "gap"
    severity: ClassVar[Severity] = _LOST

    @property
    def what(self) -> str:
        return "no index entry covers these offsets"


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap(_WrongEntries):
    """Two entries cover the same offsets."""

    name: ClassVar[str] = "overlap"

    @property
    def what(self) -> str:
        return "two index entries cover these offsets"


@dataclass(frozen=True, slots=True, kw_only=True)
class MisplacedEntry(_WrongEntries):
    """An entry contradicts its own key, or covers nothing."""

    name: ClassVar[str] = "misplaced_entry"
    key: str

    @property
    def what(self) -> str:
        return f"the index entry contradicts its key {self.key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeMismatch(OfStream):
    """The cumulative size does not continue that of the entry before."""

    name: ClassVar[str] = "size_mismatch"
    severity: ClassVar[Severity] = _WRONG
    expected: int
    found: int

    @property
    def what(self) -> str:
        return f"the cumulative size should be {self.expected}, it is {self.found}"

    @property
    def remedy(self) -> str:
        return "nothing: only retention by size is inexact, until the records expire"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeMismatch(OfStream):
    """The running maximum of an entry's timestamps is below a time that it includes."""

    name: ClassVar[str] = "time_mismatch"
    severity: ClassVar[Severity] = _WRONG
    key: str
    found_ms: int
    raised: IndexEntry
    """The entry with the running maximum that it should have."""
    held: bool = False
    """Whether the chain of the stream is contradictory, so that it is unknown which entry is right."""

    @property
    def what(self) -> str:
        at_least_ms = self.raised.running_max_timestamp_ms
        return f"the running maximum of timestamps should be {at_least_ms}, it is {self.found_ms}"

    @property
    def remedy(self) -> str:
        return _CONTRADICTED if self.held else REPAIR


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadMismatch(OfStream):
    """The head contradicts its entries; `rebuilt` is what follows from them, if that is known."""

    name: ClassVar[str] = "head_mismatch"
    severity: ClassVar[Severity] = _WRONG
    reason: str
    rebuilt: StreamHead | None = None

    @property
    def what(self) -> str:
        return f"the stream head is wrong: {self.reason}"

    @property
    def remedy(self) -> str:
        return BACKUP if self.rebuilt is None else REPAIR


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotDamaged(OfStream):
    """The snapshot of producers cannot be decoded, or is later than the head says."""

    name: ClassVar[str] = "snapshot_damaged"
    severity: ClassVar[Severity] = _WRONG
    key: str
    reason: str

    @property
    def what(self) -> str:
        return f"the snapshot of producers is wrong: {self.reason}"

    @property
    def remedy(self) -> str:
        return f"restore {self.key} from a backup of the metadata; without it, duplicates are not detected"


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingHead(OfStream):
    """A topic's stream has no head; `rebuilt` follows from its entries, if it has any."""

    name: ClassVar[str] = "missing_head"
    severity: ClassVar[Severity] = _LOST
    rebuilt: StreamHead | None = None
    held: bool = False
    """Whether objects may hold records of the stream that its entries lack: the head would end too early."""

    @property
    def what(self) -> str:
        return "the stream has no head: it can be neither written nor read"

    @property
    def remedy(self) -> str:
        if self.rebuilt is None:
            return f"{BACKUP}: without entries, its next offset is unknown; or delete and create the topic"
        if self.held:
            return f"{BACKUP}: {_HELD}"
        return REPAIR


@dataclass(frozen=True, slots=True, kw_only=True)
class LostTopic(OfStream):
    """A stream with records that no topic has."""

    name: ClassVar[str] = "lost_topic"
    severity: ClassVar[Severity] = _LOST

    @property
    def what(self) -> str:
        return f"the stream {self.stream:016x} has records, but no topic has the stream"

    @property
    def remedy(self) -> str:
        return f"restore the topic's key from a backup of the metadata, or {BACKUP} as a whole"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyStream(OfStream):
    """An empty stream that no topic has and no unfinished creation names."""

    name: ClassVar[str] = "empty_stream"
    severity: ClassVar[Severity] = Severity.NOTE

    @property
    def what(self) -> str:
        return f"no topic has the empty stream {self.stream:016x}"

    @property
    def remedy(self) -> str:
        return "nothing: it is a few bytes that nothing refers to; earlier versions left such streams"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedStream(OfStream):
    """Two partitions have the same stream."""

    name: ClassVar[str] = "shared_stream"
    severity: ClassVar[Severity] = _WRONG
    other: str

    @property
    def what(self) -> str:
        return f"{self.other} has the same stream"

    @property
    def remedy(self) -> str:
        return BACKUP


StreamFinding = Gap | Overlap | MisplacedEntry | SizeMismatch | TimeMismatch | HeadMismatch | SnapshotDamaged


def is_contradiction(finding: StreamFinding) -> bool:
    """Return whether it is unknown which entries the stream has, and so which objects it needs.

    A head that can be rebuilt is none: its entries agree with each other, and references follow from them.
    """
    if isinstance(finding, HeadMismatch):
        return finding.rebuilt is None
    return isinstance(finding, Gap | Overlap | MisplacedEntry)
