"""Reading what will be asked for next while the caller is busy with what it has.

A span may be a thousand small ranges in as many objects; one after the other, a store in the cloud would be
waited for most of the time. How far ahead is bounded by bytes and by requests. Requests are handed to the
store's thread some at a time: one by one, waking it would cost more than a small read from a disk.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final

from typing_extensions import Buffer

from dray.objects.port import ByteRange, ObjectStore
from dray.pipeline.blocking import BlockingStore
from dray.pipeline.reads import Read

_PORTIONS: Final = 4
"""What may be ahead comes in about so many portions."""
_Answer = list[Buffer] | BaseException


@dataclass(frozen=True, slots=True)
class AheadLimits:
    """How much may be under way or waiting to be taken; a single range may be larger."""

    bytes_max: int = 32 << 20
    requests_max: int = 32

    @property
    def portion_bytes(self) -> int:
        return max(1, self.bytes_max // _PORTIONS)

    @property
    def portion_requests(self) -> int:
        return max(1, self.requests_max // _PORTIONS)


@dataclass(slots=True)
class _Portion:
    """Requests that went together."""

    reads: deque[Read]
    answers: "Future[list[_Answer]]"
    taken: int = 0


class ReadAhead:
    """Reads in the order foretold; whatever is not asked for in that order is read when it is."""

    def __init__(self, store: BlockingStore, foretold: Iterable[Read], limits: AheadLimits) -> None:
        self._store = store
        self._foretold = iter(foretold)
        self._next = next(self._foretold, None)
        self._limits = limits
        self._ahead: deque[_Portion] = deque()
        self._ahead_bytes = 0
        self._ahead_requests = 0

    def read(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[Buffer]:
        """Return the ranges of an object, waiting for them."""
        self._go_ahead()
        if not self._ahead or [Read(path, one) for one in ranges] != [self._ahead[0].reads[0]]:
            return self._store.begin(self._store.store.get_ranges(path, ranges)).result()
        answer = self._take()
        self._go_ahead()
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def stop(self) -> None:
        """Let go of what nobody will ask for."""
        self._next = None
        for portion in self._ahead:
            portion.answers.cancel()
        self._ahead.clear()

    def _take(self) -> _Answer:
        portion = self._ahead[0]
        answer = portion.answers.result()[portion.taken]
        portion.taken += 1
        self._ahead_bytes -= portion.reads.popleft().at.length
        self._ahead_requests -= 1
        if not portion.reads:
            self._ahead.popleft()
        return answer

    def _go_ahead(self) -> None:
        """Begin portions while there is room for a whole one, or nothing is ahead."""
        while self._next is not None and (not self._ahead or self._has_room_for_portion()):
            reads = self._portion()
            calls = _all(self._store.store, list(reads))
            self._ahead.append(_Portion(reads, self._store.begin(calls)))

    def _has_room_for_portion(self) -> bool:
        limits = self._limits
        return (
            self._ahead_bytes + limits.portion_bytes <= limits.bytes_max
            and self._ahead_requests + limits.portion_requests <= limits.requests_max
        )

    def _portion(self) -> deque[Read]:
        """Take what is next: one request at least, and as many as a portion may have."""
        reads: deque[Read] = deque()
        size = 0
        while (read := self._next) is not None and len(reads) < self._limits.portion_requests:
            size += read.at.length
            if reads and size > self._limits.portion_bytes:
                break
            reads.append(read)
            self._ahead_bytes += read.at.length
            self._ahead_requests += 1
            self._next = next(self._foretold, None)
        return reads


async def _all(store: ObjectStore, reads: Sequence[Read]) -> list[_Answer]:
    calls = [store.get_ranges(read.path, [read.at]) for read in reads]
    return await asyncio.gather(*calls, return_exceptions=True)
