"""History of a group: records its members read and offsets they committed. Plain values, checked by `rules`.

Members append to one history from their own threads. Times are taken before a request and after its response,
on one monotonic clock, so if one event appears to precede another, it did.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar


class Assigned(NamedTuple):
    """A member was assigned a partition; it fetches the committed offset afterwards."""

    member: str
    partition: int
    at: float


class Read(NamedTuple):
    """A member has read and so processed a record."""

    member: str
    partition: int
    offset: int
    name: str
    at: float


class CommitRequested(NamedTuple):
    """A member sent a commit of `offset`; the response may be lost."""

    member: str
    partition: int
    offset: int
    at: float


class Committed(NamedTuple):
    """A commit of `offset` was confirmed to the member some time after it was requested."""

    member: str
    partition: int
    offset: int
    requested_at: float
    at: float


Event = Assigned | Read | CommitRequested | Committed
E = TypeVar("E", CommitRequested, Committed)


@dataclass(slots=True)
class GroupHistory:
    """All events, in order per member, and the last commit of each partition."""

    events: list[Event] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """Errors of members that ended without being asked to leave."""
    last: dict[int, Committed] = field(default_factory=dict)
    readers: Counter[str] = field(default_factory=Counter)
    """How many records each member has read."""
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def add(self, event: Event) -> None:
        with self._changed:
            self.events.append(event)
            if isinstance(event, Committed):
                self.last[event.partition] = event
            elif isinstance(event, Read):
                self.readers[event.member] += 1
            self._changed.notify_all()

    def await_positions(self, wanted: Mapping[int, int], seconds: float) -> None:
        """Wait until these are the last confirmed commits of all partitions, or until the timeout."""

        def reached() -> bool:
            return {partition: commit.offset for partition, commit in self.last.items()} == wanted

        with self._changed:
            self._changed.wait_for(reached, seconds)

    def await_reads(self, count: int, members: int, seconds: float) -> None:
        """Wait until that many members have read so many records together, or until the timeout."""
        with self._changed:
            self._changed.wait_for(
                lambda: len(self.readers) >= members and self.readers.total() >= count, seconds
            )


@dataclass(slots=True)
class Ownership:
    """The time from a partition's assignment to a member to its next assignment to it."""

    assigned: Assigned
    reads: list[Read] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.assigned.member} with partition {self.assigned.partition}"


def ownerships(events: Iterable[Event]) -> list[Ownership]:
    """Return the ownerships during which any record was read."""
    found: list[Ownership] = []
    current: dict[tuple[str, int], Ownership] = {}
    for event in events:
        if isinstance(event, Assigned):
            ownership = current[event.member, event.partition] = Ownership(event)
            found.append(ownership)
        elif isinstance(event, Read):
            current[event.member, event.partition].reads.append(event)
    return [ownership for ownership in found if ownership.reads]


def by_partition(events: Iterable[Event], kind: type[E]) -> dict[int, list[E]]:
    """Return the events of one kind by partition, in the order they happened."""
    found: dict[int, list[E]] = {}
    chosen = (event for event in events if isinstance(event, kind))
    for event in sorted(chosen, key=lambda event: event.at):
        found.setdefault(event.partition, []).append(event)
    return found
