"""Prefetching of byte ranges while the caller processes the ones it has.

A scan may read a thousand small ranges of as many objects; one after the other, it would spend most of its
time waiting for a cloud store. Prefetched bytes and requests are limited. Requests are passed to the store's
thread in batches, because waking it for each would cost more than a small read from disk.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final

from typing_extensions import Buffer

from dray.objects.port import ByteRange, ObjectStore
from dray.scan.blocking import BlockingStore
from dray.scan.ranges import Read

_BATCHES: Final = 4
"""Number of batches into which the limits divide what is prefetched."""
_Result = list[Buffer] | BaseException


@dataclass(frozen=True, slots=True)
class AheadLimits:
    """Limits of what is in flight or prefetched; a single range may exceed them."""

    bytes_max: int = 32 << 20
    requests_max: int = 32

    @property
    def batch_bytes(self) -> int:
        return max(1, self.bytes_max // _BATCHES)

    @property
    def batch_requests(self) -> int:
        return max(1, self.requests_max // _BATCHES)


@dataclass(slots=True)
class _Batch:
    """Requests that were sent together."""

    reads: deque[Read]
    results: "Future[list[_Result]]"
    taken: int = 0


class ReadAhead:
    """Prefetches the expected reads in their order; a read out of that order goes to the store directly."""

    def __init__(self, store: BlockingStore, expected: Iterable[Read], limits: AheadLimits) -> None:
        self._store = store
        self._expected = iter(expected)
        self._next = next(self._expected, None)
        self._limits = limits
        self._ahead: deque[_Batch] = deque()
        self._ahead_bytes = 0
        self._ahead_requests = 0

    def read(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[Buffer]:
        """Wait for the ranges of an object and return them."""
        self._prefetch()
        if not self._ahead or [Read(path, one) for one in ranges] != [self._ahead[0].reads[0]]:
            return self._store.begin(self._store.store.get_ranges(path, ranges)).result()
        result = self._take()
        self._prefetch()
        if isinstance(result, BaseException):
            raise result
        return result

    def stop(self) -> None:
        """Cancel what was prefetched and not taken."""
        self._next = None
        for batch in self._ahead:
            batch.results.cancel()
        self._ahead.clear()

    def _take(self) -> _Result:
        batch = self._ahead[0]
        result = batch.results.result()[batch.taken]
        batch.taken += 1
        self._ahead_bytes -= batch.reads.popleft().at.length
        self._ahead_requests -= 1
        if not batch.reads:
            self._ahead.popleft()
        return result

    def _prefetch(self) -> None:
        """Send batches while the limits allow a whole one, and at least one."""
        while self._next is not None and (not self._ahead or self._allows_batch()):
            reads = self._next_batch()
            calls = _read_all(self._store.store, list(reads))
            self._ahead.append(_Batch(reads, self._store.begin(calls)))

    def _allows_batch(self) -> bool:
        limits = self._limits
        return (
            self._ahead_bytes + limits.batch_bytes <= limits.bytes_max
            and self._ahead_requests + limits.batch_requests <= limits.requests_max
        )

    def _next_batch(self) -> deque[Read]:
        """Take the next expected reads: at least one, and as many as fit into a batch."""
        reads: deque[Read] = deque()
        size = 0
        while (read := self._next) is not None and len(reads) < self._limits.batch_requests:
            size += read.at.length
            if reads and size > self._limits.batch_bytes:
                break
            reads.append(read)
            self._ahead_bytes += read.at.length
            self._ahead_requests += 1
            self._next = next(self._expected, None)
        return reads


async def _read_all(store: ObjectStore, reads: Sequence[Read]) -> list[_Result]:
    calls = [store.get_ranges(read.path, [read.at]) for read in reads]
    return await asyncio.gather(*calls, return_exceptions=True)
