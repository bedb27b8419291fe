"""Alternation of brokers that append to the same streams.

A stream's head is a lock without a queue. The broker that committed last has the head cached and commits
again at once; any other has to read the head first, and would lose every race for as long as the first one is
busy. So a broker that has lost twice in a row writes the stream's `contended` key. A broker that sees this
key change, or finds records of another one after its own, waits after each of its commits to the stream until
the head has changed again, for a bounded time. After a wait without effect it stops: the other broker is idle
or has left. If it is only slow, it loses the next two races and asks again.

The bound follows from how long commits take. On a slow store or machine they take a quarter of a second, and
the others need two to read what has changed and to commit; a shorter wait would never help them.

Without another broker there is no wait, and a wait delays commits only: objects are uploaded meanwhile.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from dray.ids import StreamId
from dray.index import WalEntry
from dray.runtime import Clock

_COMMITS: Final = 8
"""The longest wait, as a multiple of a commit: to lose a race, to read head and producers, to commit."""
_COMMIT_S_MAX: Final = 0.25
"""A commit that took longer counts as this: an unavailable store must not delay the commits after it."""
_SMOOTHING: Final = 8
_STREAMS_MAX: Final = 50_000


class Alternation:
    """The streams of one domain that other brokers append to as well."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._shared: OrderedDict[StreamId, int] = OrderedDict()
        """An ordered set; the values mean nothing."""
        self._ends: OrderedDict[StreamId, int] = OrderedDict()
        """End offset of this broker's last records, by stream."""
        self._expected: set[StreamId] = set()
        self._answered = asyncio.Event()
        self._until = 0.0
        self._commit_s = 0.0

    def share(self, stream: StreamId) -> None:
        """Wait for others after the next commits to a stream, until a wait has no effect."""
        _keep(self._shared, stream, 0)

    def changed(self, stream: StreamId) -> None:
        """End a wait for a stream whose head another process has changed."""
        self._expected.discard(stream)
        if not self._expected:
            self._answered.set()

    def committed(self, entries: Sequence[WalEntry], seconds: float) -> None:
        """Note the entries of a commit of this broker, and how long it took."""
        ends = self._ends
        for entry in entries:
            stream, start = entry.stream, entry.start_offset
            if ends.get(stream, start) != start:
                self.share(stream)
            ends[stream] = entry.end_offset
        while len(ends) > _STREAMS_MAX:
            ends.popitem(last=False)
        counted_s = min(seconds, _COMMIT_S_MAX)
        self._commit_s += (counted_s - self._commit_s) / (_SMOOTHING if self._commit_s else 1)
        shared = self._shared
        self._expected = {entry.stream for entry in entries if entry.stream in shared} if shared else set()
        self._until = self._clock.monotonic() + _COMMITS * self._commit_s

    async def wait(self) -> None:
        """Wait, for a bounded time, until others have committed to the shared streams of the last commit."""
        remaining_s = self._until - self._clock.monotonic()
        if self._expected and remaining_s > 0:
            self._answered.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(remaining_s):
                    await self._answered.wait()
        for stream in self._expected:
            self._shared.pop(stream, None)
        self._expected.clear()


def _keep(values: OrderedDict[StreamId, int], stream: StreamId, value: int) -> None:
    values[stream] = value
    values.move_to_end(stream)
    if len(values) > _STREAMS_MAX:
        values.popitem(last=False)
