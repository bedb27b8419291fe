"""Journal of a group: the reports of its members, in order.

Members report from their own threads. The invariants of a working group are in `tests.clients.rules`.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from tests.clients.protocol import Record

Place = tuple[int, int]
"""A partition, and an offset in it."""


@dataclass(frozen=True, slots=True)
class Processed:
    """A member has processed a record."""

    member: str
    record: Record

    @property
    def place(self) -> Place:
        return self.record.partition, self.record.offset


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The broker has confirmed a commit to a member."""

    member: str
    place: Place


@dataclass(frozen=True, slots=True)
class Died:
    """A member was killed."""

    member: str


Entry = Processed | Confirmed | Died


class Journal:
    """Entries in order; every new one wakes the waiting test."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.readers: dict[Place, str] = {}
        self.positions: dict[int, int] = {}
        self._failures: list[Exception] = []
        self._changed = threading.Condition()

    def add(self, entry: Entry) -> None:
        with self._changed:
            self.entries.append(entry)
            match entry:
                case Processed():
                    self.readers[entry.place] = entry.member
                case Confirmed(place=(partition, offset)):
                    self.positions[partition] = offset
                case Died():
                    pass
            self._changed.notify_all()

    def fail(self, failure: Exception) -> None:
        """Wake the waiting test with a member's failure."""
        with self._changed:
            self._failures.append(failure)
            self._changed.notify_all()

    def wait(self, what: Callable[[], bool], seconds: float) -> bool:
        """Whether the condition became true in time; raises a member's failure at once."""
        with self._changed:
            return self._changed.wait_for(lambda: self._valid() and what(), seconds)

    def _valid(self) -> bool:
        if self._failures:
            raise self._failures[0]
        return True
