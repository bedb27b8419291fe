"""The change feed: notifies watchers of commits of this process and of others.

A commit of this process is passed on directly, without reading the file, if it is the next one: revisions
have no holes. For commits of other processes one task polls the file every few milliseconds, which costs one
`PRAGMA data_version` if there are none, and less often after a quiet period. Changes are read and decoded
once, for all watchers.

While commits of this process are on their way to be passed on, the task does not poll: it would read them
from the file first, before their callers have got their versions. If others came between, there is a hole.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

import apsw

from dray.ids import Domain
from dray.meta.port import MetaError, Position, Unavailable
from dray.meta.sqlite.history import history_after, last_revision
from dray.meta.sqlite.reader import Reader
from dray.meta.sqlite.schema import rows
from dray.meta.sqlite.settings import SqliteMetaSettings
from dray.meta.watching import LoggedCommit, Watcher
from dray.runtime import Tasks

_COMMITS_AT_ONCE: Final = 500


class ChangeFeed:
    """The watchers of one store, and the task that polls the file for them."""

    def __init__(
        self,
        reader: Reader,
        settings: SqliteMetaSettings,
        tasks: Tasks,
        *,
        own_commits_follow: Callable[[], bool],
    ) -> None:
        self._reader = reader
        self._own_commits_follow = own_commits_follow
        self._settings = settings
        self._tasks = tasks
        self._watchers: dict[Watcher, None] = {}
        self._polling_task: asyncio.Task[None] | None = None
        self._position = 0
        self._data_version: object = None
        self._quiet_polls = 0
        """Consecutive polls without a commit of another process."""
        self._woken = asyncio.Event()
        self._advanced = asyncio.Event()
        """Set when the position has changed, or the watches have ended."""
        self._hole = False

    def committed(self, log: Sequence[LoggedCommit]) -> None:
        """Pass on commits of this process; if there is a hole before them, poll the file."""
        if log and log[-1].revision <= self._position:
            return  # a poll was faster
        if log and log[0].revision == self._position + 1:
            self._notify(log, log[-1].revision)
        else:
            self._hole = True
            self._woken.set()

    async def add(self, domain: Domain, prefix: str) -> Watcher:
        """Add a watch that begins now."""
        revision = await self._reader.quick(last_revision)
        watcher = Watcher(domain, prefix, revision, self._reach)
        self._position = min(self._position, revision) if self._watchers else revision
        self._data_version = None
        self._watchers[watcher] = None
        if self._polling_task is None or self._polling_task.done():
            self._polling_task = self._tasks.start(self._poll_forever(), name="poll metadata changes")
        return watcher

    async def catch_up(self, watcher: Watcher, after: Position) -> None:
        """Add the changes since `after`. The watch has begun before, so no change is missed in between."""
        most = self._settings.catch_up_commits_max
        query = partial(history_after, after=after, limit=most + 1, domain=watcher.domain)
        past = await self._reader.slow(query)
        watcher.catch_up(past.commits, gap=past.gap or len(past.commits) > most)

    async def _reach(self, _: Domain) -> int:
        revision = await self._reader.quick(last_revision)
        while self._position < revision and self._watchers:
            self._woken.set()  # poll now; commits of this process that are on their way come without
            self._advanced.clear()
            await self._advanced.wait()
        return revision

    def remove(self, watcher: Watcher) -> None:
        self._watchers.pop(watcher, None)
        watcher.end(StopAsyncIteration())
        self._advanced.set()
        if not self._watchers and self._polling_task is not None:
            self._polling_task.cancel()
            self._polling_task = None

    def close(self) -> None:
        self._end_all(Unavailable("the metadata store was closed during the watch"))

    async def _poll_forever(self) -> None:
        while self._watchers:
            self._woken.clear()
            try:
                self._poll()
            except apsw.BusyError:
                pass  # another process recovers the file after a crash
            except MetaError as error:
                self._end_all(error)
            await self._pause()

    async def _pause(self) -> None:
        settings = self._settings
        quiet = self._quiet_polls >= settings.quiet_polls
        try:
            async with asyncio.timeout((settings.quiet_poll_ms if quiet else settings.poll_ms) / 1000):
                await self._woken.wait()
        except TimeoutError:
            return

    def _poll(self) -> None:
        if self._own_commits_follow() and not self._hole:
            return
        self._hole = False
        # Read before the history: a commit in between is then read twice, not missed.
        version = self._reader.now(_data_version)
        if version == self._data_version:
            self._quiet_polls += 1
            return
        before, complete = self._position, False
        while not complete:
            recent = self._reader.now(partial(history_after, after=self._position, limit=_COMMITS_AT_ONCE))
            self._notify(recent.commits, recent.revision, gap=recent.gap)
            complete = recent.complete
        self._quiet_polls = self._quiet_polls + 1 if self._position == before else 0
        self._data_version = version

    def _notify(self, commits: Iterable[LoggedCommit], revision: int, *, gap: bool = False) -> None:
        by_domain: dict[Domain, list[LoggedCommit]] = {}
        for commit in commits:
            by_domain.setdefault(commit.domain, []).append(commit)
        for watcher in self._watchers:
            watcher.add(by_domain.get(watcher.domain, ()), revision, gap=gap)
        self._position = revision
        self._advanced.set()

    def _end_all(self, error: MetaError) -> None:
        watchers, self._watchers = self._watchers, {}
        for watcher in watchers:
            watcher.end(error)
        self._advanced.set()


def _data_version(db: apsw.Connection) -> object:
    return rows(db, "PRAGMA data_version")
