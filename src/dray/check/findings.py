"""Findings of a check: what they have in common. Pure.

A finding is a value, so two examinations can be compared. `checks` are the keys that it rests on, with their
versions: a finding is only reported after these were read again, and a repair is only committed while they
are unchanged.

Each kind is a class of its own, which says how bad it is, what is wrong, and what an operator can do where
`repair_plan` can do nothing: `stream_findings`, `object_findings`, `other_findings`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final

from dray.ids import Domain, StreamId
from dray.meta.port import Check

BACKUP: Final = "restore the metadata from a backup"
COMPACTOR: Final = "a compactor does it: start one (`dray compactor`), or see `dray compaction status`"
REPAIR: Final = "`dray check --repair`"


class Severity(StrEnum):
    """How bad a finding is, worst first."""

    LOST = "lost"
    """Records cannot be read."""
    WRONG = "wrong"
    """Something contradicts something else; records may be lost later, or an answer may be wrong."""
    LEAK = "leak"
    """Only space is wasted."""
    NOTE = "note"
    """Worth knowing, and usually temporary."""


class ObjectKind(StrEnum):
    """The two kinds of objects that the index points to."""

    WAL = "WAL object"
    FILE = "Parquet file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(ABC):
    """What is wrong, and where."""

    name: ClassVar[str]
    """Its stable name for programs."""
    severity: ClassVar[Severity]
    domain: Domain
    checks: tuple[Check, ...] = ()

    @property
    @abstractmethod
    def what(self) -> str:
        """What is wrong, without the topic and the offsets, which are printed beside it."""

    @property
    @abstractmethod
    def remedy(self) -> str:
        """What to do about it if it is not repaired."""

    @property
    def offsets(self) -> tuple[int, int] | None:
        """The first and last offset that it is about."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class OfStream(Finding):
    """A finding in one stream, about offsets from `start` to `end`, exclusive; equal if about no offsets."""

    stream: StreamId
    start: int = 0
    end: int = 0

    @property
    def offsets(self) -> tuple[int, int] | None:
        return (self.start, self.end - 1) if self.start < self.end else None


def delete_records(end: int) -> str:
    """Return how to accept the loss of the records before an offset."""
    return f"accept the loss: `kafka-delete-records.sh` up to offset {end}"
