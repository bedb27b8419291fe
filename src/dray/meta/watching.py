"""One watch of an adapter that receives the changes of a domain as a feed, shared by all watches.

The feed passes every commit of the domain to its watchers, with the position it has reached. A watcher keeps
the last version of each changed key under its prefix until it is fetched, so a slow one uses memory
proportional to the number of keys. Commits up to the watcher's own position are ignored: it began after them.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

from dray.ids import Domain
from dray.meta.port import Change, ChangeBatch, Position, Version


@dataclass(frozen=True, slots=True)
class LoggedCommit:
    """A successful commit: its revision, which is also the version of its puts, and its changes."""

    revision: int
    domain: Domain
    changes: tuple[tuple[str, Version], ...]


class Watcher(AsyncIterator[ChangeBatch]):
    """One watch: the changes under its prefix that have not been fetched."""

    def __init__(self, domain: Domain, prefix: str, position: int) -> None:
        self.domain = domain
        self._prefix = prefix
        self._position = position
        self._pending: dict[str, Version] = {}
        self._gap = False
        self._has_begun = False
        self._end: Exception | None = None
        self._woken = asyncio.Event()

    @property
    def position(self) -> int:
        """The position up to which changes have been added."""
        return self._position

    async def __anext__(self) -> ChangeBatch:
        while self._end is None:
            if self._pending or self._gap or not self._has_begun:
                return self._take()
            self._woken.clear()
            await self._woken.wait()
        raise self._end

    def catch_up(self, commits: Iterable[LoggedCommit], *, gap: bool) -> None:
        """Prepend the changes from before the watch began to those received since."""
        since, self._pending = self._pending, {}
        self._gap |= gap
        self._merge(() if self._gap else commits)
        self._pending = {key: version for key, version in self._pending.items() if key not in since} | since

    def add(self, commits: Iterable[LoggedCommit], position: int, *, gap: bool) -> None:
        """Add commits of the watch's domain, up to a position."""
        self._merge(commit for commit in commits if commit.revision > self._position)
        self._gap |= gap and position > self._position
        self._position = max(self._position, position)
        if self._pending or self._gap:
            self._woken.set()

    def end(self, end: Exception) -> None:
        self._end = self._end or end
        self._woken.set()

    def _merge(self, commits: Iterable[LoggedCommit]) -> None:
        for commit in commits:
            for key, version in commit.changes:
                if key.startswith(self._prefix):
                    self._pending.pop(key, None)  # moves the key to the end
                    self._pending[key] = version

    def _take(self) -> ChangeBatch:
        changes = tuple(Change(key, version) for key, version in self._pending.items())
        batch = ChangeBatch(Position(self._position), changes, self._gap)
        self._pending, self._gap, self._has_begun = {}, False, True
        return batch
