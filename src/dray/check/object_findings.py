"""Findings about WAL objects and Parquet files: index, records and bucket disagree about them. Pure."""

from dataclasses import dataclass
from typing import ClassVar, Final

from dray.check.findings import (
    REPAIR,
    Finding,
    ObjectKind,
    OfStream,
    Severity,
    delete_records,
)
from dray.ids import StreamId, TopicRef
from dray.index import WalObject
from dray.meta.port import Check

_HELD: Final = "not repaired while the index has gaps: the object may hold the records that are missing there"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unreadable(OfStream):
    """An entry whose records cannot be read from its object."""

    severity: ClassVar[Severity] = Severity.LOST
    kind: ObjectKind
    path: str

    @property
    def remedy(self) -> str:
        return _restore(self.path, self.end)


def _restore(path: str, end: int) -> str:
    return f"restore {path}, for example from a version of the bucket, or {delete_records(end)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingObject(_Unreadable):
    """An entry points to an object that does not exist."""

    name: ClassVar[str] = "missing_object"

    @property
    def what(self) -> str:
        return f"the {self.kind} {self.path} does not exist"

    @property
    def remedy(self) -> str:
        restore = _restore(self.path, self.end)
        if self.kind is ObjectKind.WAL:
            return restore
        return f"a compactor restores it from the table if the table still has its rows; otherwise {restore}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortObject(_Unreadable):
    """An entry points beyond the end of its object, or the object has another size than was written."""

    name: ClassVar[str] = "short_object"
    size_bytes: int
    expected_bytes: int

    @property
    def what(self) -> str:
        sizes = f"has {self.size_bytes} bytes, it should have {self.expected_bytes}"
        return f"the {self.kind} {self.path} {sizes}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedObject(_Unreadable):
    """The bytes of an object are not those that were written."""

    name: ClassVar[str] = "damaged_object"
    reason: str

    @property
    def what(self) -> str:
        return f"the {self.kind} {self.path} is damaged: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unprotected(OfStream):
    """Entries point to an object that the sweep will delete: it has no record, or a marker to delete it.

    `start` and `end` are those of the first such entry, and `topic` is its topic.
    """

    name: ClassVar[str] = "unprotected"
    severity: ClassVar[Severity] = Severity.WRONG
    kind: ObjectKind
    path: str
    object_id: bytes
    size_bytes: int
    references: int
    recorded: bool
    """Whether there is a record besides the marker."""
    markers: tuple[Check, ...] = ()
    """Markers to delete the object."""
    topic: TopicRef | None = None
    complete: bool = True
    """Whether `references` counts all its entries: none in its domain is missing or undecodable."""

    @property
    def what(self) -> str:
        state = "is marked for deletion" if self.markers else "has no record, so it will be deleted"
        return f"the {self.kind} {self.path} {state}, but index entries point to it"

    @property
    def remedy(self) -> str:
        return f"{REPAIR}; if that fails, copy {self.path} to a safe place"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongReferences(Finding):
    """A WAL object's record counts fewer entries than point to it: it may be deleted too early."""

    name: ClassVar[str] = "wrong_references"
    severity: ClassVar[Severity] = Severity.WRONG
    object_id: bytes
    record: WalObject
    counted: int

    @property
    def what(self) -> str:
        return (
            f"the WAL object {self.record.path} counts {self.record.references} references, "
            f"{self.counted} index entries point to it"
        )

    @property
    def remedy(self) -> str:
        return REPAIR


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcessReferences(WrongReferences):
    """A WAL object's record counts more entries than point to it: it will never be deleted."""

    name: ClassVar[str] = "excess_references"
    severity: ClassVar[Severity] = Severity.LEAK
    held: bool = False
    """Whether the index of its domain has gaps, so that the object may hold records that the index lacks."""

    @property
    def remedy(self) -> str:
        return _HELD if self.held else REPAIR


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreferenced(Finding):
    """An object's record to which no entry points. `topic` and `stream` are those of a file."""

    name: ClassVar[str] = "unreferenced"
    severity: ClassVar[Severity] = Severity.LEAK
    kind: ObjectKind
    path: str
    object_id: bytes
    size_bytes: int
    topic: TopicRef | None = None
    stream: StreamId | None = None
    held: bool = False
    """As in `ExcessReferences`."""

    @property
    def what(self) -> str:
        return f"no index entry points to the {self.kind} {self.path}, which is not marked for deletion"

    @property
    def remedy(self) -> str:
        return _HELD if self.held else REPAIR


@dataclass(frozen=True, slots=True, kw_only=True)
class Stray(Finding):
    """An old object that neither a key nor an index entry names."""

    name: ClassVar[str] = "stray"
    severity: ClassVar[Severity] = Severity.LEAK
    kind: ObjectKind
    path: str
    size_bytes: int
    held: bool = False
    """As in `ExcessReferences`."""

    @property
    def what(self) -> str:
        return f"no key names the {self.kind} {self.path} ({self.size_bytes} bytes)"

    @property
    def remedy(self) -> str:
        return _HELD if self.held else f"{REPAIR}, or `dray gc run`; running brokers do it every few hours"


@dataclass(frozen=True, slots=True, kw_only=True)
class OverdueDeletion(Finding):
    """A marker that should have been swept: of a deleted object, or of one that was never committed."""

    name: ClassVar[str] = "overdue_deletion"
    severity: ClassVar[Severity] = Severity.LEAK
    kind: ObjectKind
    path: str
    due_ms: int
    held: bool = False
    """As in `ExcessReferences`."""

    @property
    def what(self) -> str:
        return f"the {self.kind} {self.path} should have been deleted"

    @property
    def remedy(self) -> str:
        if self.held:
            return _HELD
        if self.kind is ObjectKind.FILE:
            return f"{REPAIR}, once a compactor has checked that no table references it"
        return f"{REPAIR}, or `dray gc run`; running brokers do it every minute"
