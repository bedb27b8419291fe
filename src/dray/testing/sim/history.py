"""History of a simulation as its clients observed it.

One counter numbers all events, so "before" is a total order across clients. A batch is identified by its tag,
which is also the value of its records; tags are unique, except that a retry sends the same batch again.
"""

from dataclasses import dataclass, field
from enum import Enum

from dray.ids import StreamId


class Outcome(Enum):
    """Outcome of a batch as its sender knows it."""

    ACKNOWLEDGED = "acknowledged"
    FAILED = "failed"
    """The sender was notified that nothing was committed and nothing will be."""
    UNKNOWN = "unknown"


@dataclass(slots=True)
class Sent:
    """A batch as its sender knows it."""

    tag: str
    stream: StreamId
    idempotent: bool
    order: tuple[str, int]
    """The sender and the number of the batch: batches of one idempotent sender keep this order."""
    first_sent: int
    window: int = -1
    """Batches of one window were sent together over one connection, in the order of their numbers."""
    uncertain: bool = False
    """An attempt to send it had an unknown outcome."""
    outcome: Outcome = Outcome.UNKNOWN
    base_offset: int = -1
    acknowledged: int = -1
    """Value of the history's counter at the acknowledgement."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A reader saw the batch `tag` at `offset`."""

    stream: StreamId
    offset: int
    tag: str


@dataclass(slots=True)
class History:
    """All events of a simulation, in order."""

    sent: dict[str, Sent] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    trimmed_to: dict[StreamId, int] = field(default_factory=dict)
    """The highest offset up to which a client or retention trimmed each stream."""
    deleted: set[StreamId] = field(default_factory=set)
    """Streams whose deletion a client requested."""
    violations: list[str] = field(default_factory=list)
    """Violations that clients observed."""
    lines: list[str] = field(default_factory=list)
    """As text, to read and to compare two runs."""
    _counter: int = 0

    @property
    def acknowledged(self) -> int:
        """Number of acknowledged batches."""
        return sum(sent.outcome is Outcome.ACKNOWLEDGED for sent in self.sent.values())

    def tick(self) -> int:
        self._counter += 1
        return self._counter

    def note(self, line: str) -> None:
        self.lines.append(f"{self.tick()} {line}")

    def violate(self, line: str) -> None:
        self.note(f"VIOLATION {line}")
        self.violations.append(line)
