"""What the members of a group read and committed, and when: values only, compared by `rules`.

Members write into one ledger from their own threads. A moment is taken before something is asked and after it
was told, on one monotonic clock, so what is shown to be earlier was earlier.
"""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar


class Begun(NamedTuple):
    """A member was given a partition; where to go on is asked after that."""

    member: str
    partition: int
    at: float


class Read(NamedTuple):
    """A member has read a record, and with that processed it."""

    member: str
    partition: int
    offset: int
    name: str
    at: float


class Asked(NamedTuple):
    """A member asked that the group go on from `offset`; it need not learn what became of that."""

    member: str
    partition: int
    offset: int
    at: float


class Committed(NamedTuple):
    """The group goes on from `offset`: asked for, and some time later confirmed to the member."""

    member: str
    partition: int
    offset: int
    asked: float
    at: float


Event = Begun | Read | Asked | Committed
E = TypeVar("E", Asked, Committed)


@dataclass(slots=True)
class Ledger:
    """All events, each member's in their order, and the last commit of each partition."""

    events: list[Event] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """What ended a member that was not told to leave."""
    last: dict[int, Committed] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def add(self, event: Event) -> None:
        with self._changed:
            self.events.append(event)
            if isinstance(event, Committed):
                self.last[event.partition] = event
                self._changed.notify_all()

    def await_positions(self, wanted: Mapping[int, int], seconds: float) -> None:
        """Wait until just this was confirmed last of each partition, or the time is over."""

        def reached() -> bool:
            return {partition: commit.offset for partition, commit in self.last.items()} == wanted

        with self._changed:
            self._changed.wait_for(reached, seconds)


@dataclass(slots=True)
class Stint:
    """One member's time with one partition, from being given it."""

    begun: Begun
    reads: list[Read] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.begun.member} with partition {self.begun.partition}"


def stints(events: Iterable[Event]) -> list[Stint]:
    """The stints in which anything was read."""
    found: list[Stint] = []
    current: dict[tuple[str, int], Stint] = {}
    for event in events:
        if isinstance(event, Begun):
            stint = current[event.member, event.partition] = Stint(event)
            found.append(stint)
        elif isinstance(event, Read):
            current[event.member, event.partition].reads.append(event)
    return [stint for stint in found if stint.reads]


def by_partition(events: Iterable[Event], kind: type[E]) -> dict[int, list[E]]:
    """The events of one kind, of each partition in the order in which they happened."""
    found: dict[int, list[E]] = {}
    chosen = (event for event in events if isinstance(event, kind))
    for event in sorted(chosen, key=lambda event: event.at):
        found.setdefault(event.partition, []).append(event)
    return found
