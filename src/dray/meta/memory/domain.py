"""One domain of the memory server: its keys, sorted as the port requires, and its recent changes."""

from bisect import bisect_left, insort
from collections import deque
from dataclasses import dataclass

from dray.meta.port import (
    ABSENT,
    Change,
    ChangeBatch,
    Entry,
    Position,
    Put,
    SessionId,
    Version,
    Write,
)
from dray.meta.rules import depth


@dataclass(frozen=True, slots=True)
class Stored:
    """The current state of a key."""

    entry: Entry
    session: SessionId | None


class DomainState:
    """Keys and history of one domain; versions are the server's revisions."""

    def __init__(self, history_max: int) -> None:
        self._history_max = history_max
        self._stored: dict[str, Stored] = {}
        # Code points sort like their UTF-8 encoding, so the tuples have the port's order.
        self._order: list[tuple[int, str]] = []
        self._history: deque[tuple[int, tuple[Change, ...]]] = deque()
        self._forgotten_to = 0

    def get(self, key: str) -> Entry | None:
        stored = self._stored.get(key)
        return None if stored is None else stored.entry

    def version(self, key: str) -> Version:
        stored = self._stored.get(key)
        return ABSENT if stored is None else stored.entry.version

    def scan(self, start: str, end: str, limit: int | None, *, reverse: bool) -> list[Entry]:
        low = bisect_left(self._order, (depth(start), start))
        high = bisect_left(self._order, (depth(end), end))
        keys = self._order[low:high]
        if reverse:
            keys.reverse()
        return [self._stored[key].entry for _, key in keys[:limit]]

    def lasting(self) -> list[Entry]:
        """Return all keys without a session."""
        found = (self._stored[key] for _, key in self._order)
        return [stored.entry for stored in found if stored.session is None]

    def owned_by(self, session: SessionId) -> list[str]:
        return [key for key, stored in self._stored.items() if stored.session == session]

    def apply(self, revision: int, writes: tuple[Write, ...]) -> tuple[Version, ...]:
        """Apply all writes with one revision, and return their versions."""
        versions = tuple(self._write(revision, write) for write in writes)
        changes = tuple(Change(write.key, version) for write, version in zip(writes, versions, strict=True))
        self._history.append((revision, changes))
        while len(self._history) > self._history_max:
            self._forgotten_to = self._history.popleft()[0]
        return versions

    def changes(self, prefix: str, after: Position, now: int) -> ChangeBatch:
        """Return the changes after a position; an unknown or trimmed position is a gap."""
        found = tuple(
            change
            for revision, changes in self._history
            if revision > after
            for change in changes
            if change.key.startswith(prefix)
        )
        return ChangeBatch(Position(now), found, gap=not self._forgotten_to <= after <= now)

    def forget_changes(self, now: int) -> None:
        self._history.clear()
        self._forgotten_to = now

    def _write(self, revision: int, write: Write) -> Version:
        place = (depth(write.key), write.key)
        present = write.key in self._stored
        if isinstance(write, Put):
            entry = Entry(write.key, write.value, Version(revision))
            self._stored[write.key] = Stored(entry, write.session)
            if not present:
                insort(self._order, place)
            return entry.version
        if present:
            del self._stored[write.key]
            del self._order[bisect_left(self._order, place)]
        return ABSENT
