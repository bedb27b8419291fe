"""Reading what will be asked for next while the caller is busy with what it has.

A span may be a thousand small ranges in as many objects; one after the other, a store in the cloud would be
waited for most of the time. How far ahead is bounded by bytes and by requests.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from typing_extensions import Buffer

from dray.objects.port import ByteRange
from dray.pipeline.rewrite import Read
from dray.pipeline.spark.blocking import BlockingStore


@dataclass(frozen=True, slots=True)
class AheadLimits:
    """How much may be under way or waiting to be taken; a single range may be larger."""

    bytes_max: int = 32 << 20
    requests_max: int = 16


class ReadAhead:
    """Reads in the order foretold; whatever is not asked for in that order is read when it is."""

    def __init__(self, store: BlockingStore, foretold: Iterable[Read], limits: AheadLimits) -> None:
        self._store = store
        self._foretold = iter(foretold)
        self._next = next(self._foretold, None)
        self._limits = limits
        self._ahead: deque[tuple[Read, Future[list[Buffer]]]] = deque()
        self._ahead_bytes = 0

    def read(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[Buffer]:
        """Return the ranges of an object, waiting for them."""
        self._go_ahead()
        if not self._ahead or [Read(path, one) for one in ranges] != [self._ahead[0][0]]:
            return self._store.begin(self._store.store.get_ranges(path, ranges)).result()
        read, answer = self._ahead.popleft()
        self._ahead_bytes -= read.at.length
        self._go_ahead()
        return answer.result()

    def stop(self) -> None:
        """Let go of what nobody will ask for."""
        self._next = None
        for _, answer in self._ahead:
            answer.cancel()
        self._ahead.clear()

    def _go_ahead(self) -> None:
        while self._next is not None and self._has_room(self._next):
            read = self._next
            answer = self._store.begin(self._store.store.get_ranges(read.path, [read.at]))
            self._ahead.append((read, answer))
            self._ahead_bytes += read.at.length
            self._next = next(self._foretold, None)

    def _has_room(self, read: Read) -> bool:
        fits = self._ahead_bytes + read.at.length <= self._limits.bytes_max
        return not self._ahead or (fits and len(self._ahead) < self._limits.requests_max)
