"""One watch of an adapter that receives the changes of a domain as a feed, shared by all watches.

The feed passes every commit of the domain to its watchers, with the position it has reached. A watcher keeps
the last version of each changed key under its prefix until it is fetched, so a slow one uses memory
proportional to the number of keys. Commits up to the watcher's own position are ignored: it began after them.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass

from dray.ids import Domain
from dray.meta.port import Change, ChangeBatch, Position, Version


@dataclass(frozen=True, slots=True)
class LoggedCommit:
    """A successful commit: its revision, which is also the version of its puts, and its changes."""

    revision: int
    domain: Domain
    changes: tuple[tuple[str, Version], ...]


Reach = Callable[[Domain], Awaitable[int]]
"""Returns a position that includes every commit of a domain up to now, once the feed has got there."""


class Syncs:
    """Calls of `Watch.sync` that wait for a reader to handle changes up to a position."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, asyncio.Future[bool]]] = []

    async def wait(self, position: int) -> bool:
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((position, future))
        return await future

    def handled(self, position: int) -> None:
        """Let those continue that wait for this position or an earlier one."""
        if self._waiting:
            self._end([one for one in self._waiting if one[0] <= position], result=True)

    def end(self) -> None:
        """Let all continue: the watch has ended."""
        self._end(list(self._waiting), result=False)

    def _end(self, done: list[tuple[int, "asyncio.Future[bool]"]], *, result: bool) -> None:
        for one in done:
            self._waiting.remove(one)
            if not one[1].done():
                one[1].set_result(result)


class Watcher(AsyncIterator[ChangeBatch]):
    """One watch: the changes under its prefix that have not been fetched."""

    def __init__(self, domain: Domain, prefix: str, position: int, reach: Reach) -> None:
        self.domain = domain
        self._reach = reach
        self._syncs = Syncs()
        self._returned = position
        """The position of the last batch."""
        self._is_idle = False
        """Whether the reader waits for changes, and has handled all others."""
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
        self._syncs.handled(self._returned)
        while self._end is None:
            if self._pending or self._gap or not self._has_begun:
                return self._take()
            self._syncs.handled(self._position)
            self._woken.clear()
            self._is_idle = True
            try:
                await self._woken.wait()
            finally:
                self._is_idle = False
        raise self._end

    async def sync(self) -> bool:
        position = await self._reach(self.domain)
        if self._end is not None:
            return False
        if self._is_idle and not (self._pending or self._gap) and position <= self._position:
            return True
        return await self._syncs.wait(position)

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
        elif self._is_idle:
            self._syncs.handled(self._position)

    def end(self, end: Exception) -> None:
        self._end = self._end or end
        self._syncs.end()
        self._woken.set()

    def _merge(self, commits: Iterable[LoggedCommit]) -> None:
        prefix, pending = self._prefix, self._pending
        for commit in commits:
            changes = [change for change in commit.changes if change[0].startswith(prefix)]
            for key, _ in changes if pending else ():
                pending.pop(key, None)  # moves the key to the end
            pending.update(changes)

    def _take(self) -> ChangeBatch:
        changes = tuple([Change(key, version) for key, version in self._pending.items()])
        batch = ChangeBatch(Position(self._position), changes, self._gap)
        self._pending, self._gap, self._has_begun = {}, False, True
        self._returned = self._position
        return batch
