"""Telling watchers what changed.

A commit of this process is told as it was made, without asking the file, if it is the next one: revisions
have no holes. For those of others one task follows the file: every few milliseconds, which costs one `PRAGMA
data_version` when there are none, and less often when there have been none for a while. They are read and
decoded once, for all watchers. A watcher keeps the last version of each changed key until it is fetched, so a
slow one holds no more than there are keys.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from functools import partial
from typing import Final

import apsw

from dray.meta.port import Change, ChangeBatch, Domain, MetaError, Position, Unavailable, Version
from dray.meta.sqlite.history import History, history_after, last_revision
from dray.meta.sqlite.plan import LoggedCommit
from dray.meta.sqlite.reader import Reader
from dray.meta.sqlite.schema import rows
from dray.meta.sqlite.settings import SqliteMetaSettings
from dray.runtime import Tasks

_COMMITS_AT_ONCE: Final = 500


class Watcher(AsyncIterator[ChangeBatch]):
    """One watch: what has changed under its prefix and has not been fetched."""

    def __init__(self, domain: Domain, prefix: str, position: int) -> None:
        self.domain = domain
        self._prefix = prefix
        self._position = position
        self._pending: dict[str, Version] = {}
        self._gap = False
        self._told_first = False
        self._end: Exception | None = None
        self._woken = asyncio.Event()

    async def __anext__(self) -> ChangeBatch:
        while self._end is None:
            if self._pending or self._gap or not self._told_first:
                return self._take()
            self._woken.clear()
            await self._woken.wait()
        raise self._end

    def catch_up(self, past: History, most: int) -> None:
        """Put what happened before the watch began in front of what has been told since."""
        since, self._pending = self._pending, {}
        self._gap |= past.gap or len(past.commits) > most
        self._merge(() if self._gap else past.commits)
        self._pending = {key: version for key, version in self._pending.items() if key not in since} | since

    def tell(self, commits: Iterable[LoggedCommit], position: int, *, gap: bool) -> None:
        """Add commits of its domain, up to a position."""
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
                    self._pending.pop(key, None)  # so that it moves to the end
                    self._pending[key] = version

    def _take(self) -> ChangeBatch:
        changes = tuple(Change(key, version) for key, version in self._pending.items())
        batch = ChangeBatch(Position(self._position), changes, self._gap)
        self._pending, self._gap, self._told_first = {}, False, True
        return batch


class ChangeFeed:
    """The watchers of one store and the task that serves them."""

    def __init__(self, reader: Reader, settings: SqliteMetaSettings, tasks: Tasks) -> None:
        self._reader = reader
        self._settings = settings
        self._tasks = tasks
        self._watchers: dict[Watcher, None] = {}
        self._following: asyncio.Task[None] | None = None
        self._position = 0
        self._data_version: object = None
        self._alone = 0
        """Looks in a row that found nothing of others."""
        self._woken = asyncio.Event()

    def committed(self, log: Sequence[LoggedCommit]) -> None:
        """Take note that this process has committed something: these, or what only the file can tell."""
        if log and log[-1].revision <= self._position:
            return  # a look into the file came first
        if log and log[0].revision == self._position + 1:
            self._tell(log, log[-1].revision)
        else:
            self._woken.set()

    async def add(self, domain: Domain, prefix: str) -> Watcher:
        """Watch from now on."""
        revision = await self._reader.quick(last_revision)
        watcher = Watcher(domain, prefix, revision)
        self._position = min(self._position, revision) if self._watchers else revision
        self._data_version = None
        self._watchers[watcher] = None
        if self._following is None or self._following.done():
            self._following = self._tasks.start(self._follow(), name="follow metadata changes")
        return watcher

    async def catch_up(self, watcher: Watcher, after: Position) -> None:
        """Tell also what happened since `after`. Watching has begun before: nothing falls between the two."""
        most = self._settings.catch_up_commits_max
        query = partial(history_after, after=after, limit=most + 1, domain=watcher.domain)
        watcher.catch_up(await self._reader.slow(query), most)

    def remove(self, watcher: Watcher) -> None:
        self._watchers.pop(watcher, None)
        watcher.end(StopAsyncIteration())
        if not self._watchers and self._following is not None:
            self._following.cancel()
            self._following = None

    def close(self) -> None:
        self._end_all(Unavailable("the metadata store was closed while it was watched"))

    async def _follow(self) -> None:
        while self._watchers:
            self._woken.clear()
            try:
                self._tell_news()
            except apsw.BusyError:
                pass  # somebody recovers the file after a crash; look again soon
            except MetaError as error:
                self._end_all(error)
            await self._pause()

    async def _pause(self) -> None:
        settings = self._settings
        calm = self._alone >= settings.calm_polls
        try:
            async with asyncio.timeout((settings.calm_poll_ms if calm else settings.poll_ms) / 1000):
                await self._woken.wait()
        except TimeoutError:
            return

    def _tell_news(self) -> None:
        # Read before the history: a commit that comes between the two is then read again, not missed.
        version = self._reader.now(_data_version)
        if version == self._data_version:
            self._alone += 1
            return
        before, complete = self._position, False
        while not complete:
            news = self._reader.now(partial(history_after, after=self._position, limit=_COMMITS_AT_ONCE))
            self._tell(news.commits, news.revision, gap=news.gap)
            complete = news.complete
        self._alone = self._alone + 1 if self._position == before else 0
        self._data_version = version

    def _tell(self, commits: Iterable[LoggedCommit], revision: int, *, gap: bool = False) -> None:
        by_domain: dict[Domain, list[LoggedCommit]] = {}
        for commit in commits:
            by_domain.setdefault(commit.domain, []).append(commit)
        for watcher in self._watchers:
            watcher.tell(by_domain.get(watcher.domain, ()), revision, gap=gap)
        self._position = revision

    def _end_all(self, error: MetaError) -> None:
        watchers, self._watchers = self._watchers, {}
        for watcher in watchers:
            watcher.end(error)


def _data_version(db: apsw.Connection) -> object:
    return rows(db, "PRAGMA data_version")
