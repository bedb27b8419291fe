"""The change feeds: one watch of etcd for each domain in use, shared by all watches of that domain.

A watch begins at a revision that is read linearizably, so everything committed before is visible to reads
that follow, and everything after is reported. If the feed has got further in the meantime, it begins there.

A broken stream is opened again, on another endpoint, after the last position. Only if etcd has compacted that
revision away do the watches get a gap. If no endpoint answers for `wait_ms`, they end with `Unavailable`.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from dray.ids import Domain
from dray.meta.etcd.errors import Compacted, StoreClosed
from dray.meta.etcd.reads import Reads
from dray.meta.etcd.stream import StreamContext, WatchStream, changes_after
from dray.meta.port import MetaError, Position, Unavailable
from dray.meta.watching import LoggedCommit, Watcher
from dray.observe import get_logger
from dray.runtime import RetrySettings
from dray.runtime.retry import waits_ms

_log = get_logger("meta")
_PAUSES: Final = RetrySettings(first_ms=20.0, max_ms=1_000.0)


class ChangeFeeds:
    """The feeds of one client, by domain."""

    def __init__(self, context: StreamContext, reads: Reads) -> None:
        self._context = context
        self._reads = reads
        self._feeds: dict[Domain, DomainFeed] = {}

    async def add(self, domain: Domain, prefix: str) -> Watcher:
        """Add a watch that begins now."""
        revision = await self._reads.revision()
        feed = self._feeds.get(domain)
        if feed is None or feed.ended:
            feed = DomainFeed(domain, revision, self._context, self._reads)
            self._feeds[domain] = feed
            feed.start()
        watcher = Watcher(domain, prefix, max(revision, feed.position), self._reach)
        feed.watchers[watcher] = None
        return watcher

    async def catch_up(self, watcher: Watcher, after: Position) -> None:
        """Add the changes since `after`. The watch has begun before, so no change is missed in between."""
        until = watcher.position
        try:
            commits = await self._context.endpoints.retried(
                lambda: self._between(watcher.domain, after, until)
            )
        except Compacted:
            watcher.catch_up((), gap=True)
        else:
            watcher.catch_up(commits or (), gap=commits is None)

    def remove(self, watcher: Watcher) -> None:
        watcher.end(StopAsyncIteration())
        feed = self._feeds.get(watcher.domain)
        if feed is None:
            return
        feed.watchers.pop(watcher, None)
        if not feed.watchers:
            feed.stop()
            del self._feeds[watcher.domain]

    def close(self) -> None:
        for feed in self._feeds.values():
            feed.end(Unavailable("the metadata store was closed during the watch"))

    async def _reach(self, domain: Domain) -> int:
        revision = await self._reads.revision()
        feed = self._feeds.get(domain)
        if feed is not None:
            await feed.reach(revision)
        return revision

    async def _between(self, domain: Domain, after: Position, until: int) -> list[LoggedCommit] | None:
        """Return the changes after a position up to another one; None if there are too many."""
        if after > until:
            return None  # a position of another store
        commits: list[LoggedCommit] = []
        settings = self._context.settings
        probe_ms = settings.catch_up_probe_ms
        async with changes_after(self._context, domain, after, probe_ms=probe_ms) as stream:
            while stream.position < until:
                commits += [one for one in await stream.read() if one.revision <= until]
                if len(commits) > settings.catch_up_commits_max:
                    return None
        return commits


class DomainFeed:
    """The watchers of one domain, and the task that reads a stream for them."""

    def __init__(self, domain: Domain, position: int, context: StreamContext, reads: Reads) -> None:
        self.position = position
        self.watchers: dict[Watcher, None] = {}
        self.ended = False
        self._domain = domain
        self._context = context
        self._reads = reads
        self._heard_at = context.clock.monotonic()
        self._reading: asyncio.Task[None] | None = None
        self._stream: WatchStream | None = None
        self._advanced = asyncio.Event()
        """Set when the position has changed, or the feed has ended."""

    def start(self) -> None:
        self._reading = self._context.tasks.start(self._read_forever(), name=f"watch {self._domain}")

    async def reach(self, revision: int) -> None:
        """Wait until the feed has passed on every change up to a revision, or has ended.

        A domain without changes gets there by the progress that etcd reports on request.
        """
        while self.position < revision and not self.ended:
            self._advanced.clear()
            if self._stream is not None:
                await self._stream.ask_for_progress()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._context.settings.probe_ms / 1000):
                    await self._advanced.wait()

    def stop(self) -> None:
        self.ended = True
        self._advanced.set()
        if self._reading is not None:
            self._reading.cancel()

    def end(self, error: MetaError) -> None:
        """End all watches with an error."""
        for watcher in self.watchers:
            watcher.end(error)
        self.stop()

    async def _read_forever(self) -> None:
        while not self.ended:
            pauses = waits_ms(_PAUSES, self._context.entropy)
            heard_at = self._heard_at
            while self._heard_at == heard_at and not self.ended:
                await self._read_until_broken()
                await self._context.clock.sleep(next(pauses) / 1000)

    async def _read_until_broken(self) -> None:
        try:
            await self._read_stream()
        except Compacted:
            await self._start_over()
        except Unavailable as error:
            silent_s = self._context.clock.monotonic() - self._heard_at
            _log.debug("watch_interrupted", domain=self._domain, error=str(error))
            if silent_s > self._context.settings.wait_ms / 1000:
                self.end(Unavailable(f"the watch was interrupted for {silent_s:.0f} s: {error}"))
        except StoreClosed:
            self.end(Unavailable("the metadata store was closed during the watch"))
        except MetaError as error:
            self.end(error)

    async def _read_stream(self) -> None:
        context = self._context
        probe_ms = context.settings.probe_ms
        async with changes_after(context, self._domain, self.position, probe_ms=probe_ms) as stream:
            self._stream = stream
            try:
                while True:
                    commits = await stream.read()
                    self._heard_at = context.clock.monotonic()
                    self._advance(commits, stream.position, gap=False)
            finally:
                self._stream = None

    async def _start_over(self) -> None:
        """Continue at the present, after a gap."""
        try:
            self._advance((), await self._reads.revision(), gap=True)
        except MetaError as error:
            self.end(error)

    def _advance(self, commits: Sequence[LoggedCommit], position: int, *, gap: bool) -> None:
        self.position = max(self.position, position)
        for watcher in self.watchers:
            watcher.add(commits, self.position, gap=gap)
        self._advanced.set()
