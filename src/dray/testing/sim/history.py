"""What happened in a simulation, as its clients saw it.

Everything is numbered by one counter, so that "before" means before for all clients together. A batch is
known by its tag, which is also its record's value; tags are never used twice, except that a retry sends the
same batch.
"""

from dataclasses import dataclass, field
from enum import Enum

from dray.ids import StreamId


class Fate(Enum):
    """What its sender knows of a batch."""

    ACKNOWLEDGED = "acknowledged"
    FAILED = "failed"
    """It was told that nothing was committed, and nothing will be."""
    UNKNOWN = "unknown"


@dataclass(slots=True)
class Sent:
    """One batch, as its sender knows it."""

    tag: str
    stream: StreamId
    idempotent: bool
    order: tuple[str, int]
    """Who sent it and the how-manieth it was: batches of one idempotent sender keep this order."""
    first_sent: int
    window: int = -1
    """Batches of one window were sent together over one connection, in the order of their numbers."""
    uncertain: bool = False
    """Some attempt to send it had an unknown outcome."""
    fate: Fate = Fate.UNKNOWN
    base_offset: int = -1
    acknowledged: int = -1
    """When, by the history's counter."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A reader saw the batch `tag` at `offset`."""

    stream: StreamId
    offset: int
    tag: str


@dataclass(slots=True)
class History:
    """All of it, in order."""

    sent: dict[str, Sent] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    trimmed_to: dict[StreamId, int] = field(default_factory=dict)
    """Everything below was asked to be trimmed by somebody."""
    deleted: set[StreamId] = field(default_factory=set)
    """Somebody asked for their deletion."""
    complaints: list[str] = field(default_factory=list)
    """Rules that a client saw broken."""
    lines: list[str] = field(default_factory=list)
    """For people, and to compare two runs."""
    _counter: int = 0

    def tick(self) -> int:
        self._counter += 1
        return self._counter

    def note(self, line: str) -> None:
        self.lines.append(f"{self.tick()} {line}")

    def complain(self, line: str) -> None:
        self.note(f"VIOLATION {line}")
        self.complaints.append(line)
