"""Retry wrapper: retries transient errors, and resolves puts with unknown outcomes.

Only `Unavailable` and timed-out attempts are retried, as in `runtime.retry`: with backoff and jitter, until
attempts or time are exhausted.

A put that failed like this may have happened, or may happen during the retry. Then the object at the path may
come from our own earlier attempt: on `AlreadyExists` the object is read back. If it has our bytes, the put
succeeded; otherwise another writer was first. So callers must not put the same bytes to one path twice and
expect an error.

The timeout of an attempt grows with the bytes that it transfers, so that a large object can be put over a
slow network at all. The size of a whole object that is read is unknown, and adds nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from typing_extensions import Buffer

from dray.objects.port import AlreadyExists, ByteRange, NotFound, ObjectInfo, ObjectStore, Unavailable
from dray.runtime import Clock, Entropy, FailedAttempt, RetrySettings, retry

T = TypeVar("T")

_DEFAULT = RetrySettings(first_ms=50, max_ms=5_000, budget_ms=60_000, attempts=10)


@dataclass(frozen=True, slots=True)
class ObjectRetries:
    """Limits of retries; the defaults outlast a short throttling and an endpoint failover."""

    retry: RetrySettings = _DEFAULT
    attempt_ms: float = 20_000
    bytes_per_s_min: float = 1024 * 1024

    def attempt_s(self, size_bytes: int = 0) -> float:
        """Return the timeout of an attempt that transfers this many bytes."""
        return self.attempt_ms / 1000 + size_bytes / self.bytes_per_s_min


class _Attempts:
    """The attempts of one call, and their timeout."""

    def __init__(self, operation: str, wrapper: "Retrying", size_bytes: int) -> None:
        self._operation = operation
        self._clock = wrapper.clock
        self._entropy = wrapper.entropy
        self._retry = wrapper.settings.retry
        self._timeout_s = wrapper.settings.attempt_s(size_bytes)
        self.failed = 0

    async def run(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Retry until an attempt succeeds, fails permanently, or no attempt is left."""
        self.failed = 0
        began = self._clock.monotonic()
        try:
            return await retry(
                attempt,
                on=(Unavailable,),
                clock=self._clock,
                entropy=self._entropy,
                settings=self._retry,
                note=self._note,
            )
        except Unavailable as error:
            spent = self._clock.monotonic() - began
            raise Unavailable(
                f"{self._operation} failed {self.failed + 1} times in {spent:.1f} s, last with: {error}"
            ) from error

    async def call(self, request: Callable[[], Awaitable[T]]) -> T:
        """Send one request, with the timeout of one attempt."""
        try:
            async with asyncio.timeout(self._timeout_s):
                return await request()
        except TimeoutError:
            raise Unavailable(f"{self._operation}: no response within {self._timeout_s:g} s") from None

    def _note(self, failed: FailedAttempt) -> None:
        self.failed = failed.number


class Retrying:
    """Wraps an object store, which must not retry by itself."""

    def __init__(
        self, inner: ObjectStore, clock: Clock, entropy: Entropy, settings: ObjectRetries | None = None
    ) -> None:
        self._inner = inner
        self.clock = clock
        self.entropy = entropy
        self.settings = settings or ObjectRetries()

    async def put_new(self, path: str, parts: Sequence[Buffer]) -> None:
        attempts = self._attempts(f"put of {path}", sum(memoryview(part).nbytes for part in parts))
        taken = False

        async def attempt() -> None:
            nonlocal taken
            if not taken:
                taken = not await self._put_once(attempts, path, parts)
            if taken and not await self._is_ours(attempts, path, parts):
                raise AlreadyExists(f"another writer has put {path}, with different bytes")

        await attempts.run(attempt)

    async def get(self, path: str) -> Buffer:
        return await self._repeat(f"read of {path}", lambda: self._inner.get(path))

    async def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        size_bytes = sum(wanted.length for wanted in ranges)
        return await self._repeat(f"read of {path}", lambda: self._inner.get_ranges(path, ranges), size_bytes)

    async def head(self, path: str) -> ObjectInfo:
        return await self._repeat(f"head of {path}", lambda: self._inner.head(path))

    async def list(self, prefix: str, after: str = "") -> AsyncIterator[ObjectInfo]:
        """List; if the listing breaks, resume after the last object."""
        attempts = self._attempts(f"list of {prefix}")
        listing: AsyncIterator[ObjectInfo] | None = None

        async def step() -> ObjectInfo | None:
            nonlocal listing
            if listing is None:
                listing = self._inner.list(prefix, after)
            try:
                return await attempts.call(partial(anext, listing, None))
            except Unavailable:
                listing = None
                raise

        while (info := await attempts.run(step)) is not None:
            after = info.path
            yield info

    async def delete(self, path: str) -> None:
        await self._repeat(f"delete of {path}", lambda: self._inner.delete(path))

    async def close(self) -> None:
        await self._inner.close()

    def _attempts(self, operation: str, size_bytes: int = 0) -> _Attempts:
        return _Attempts(operation, self, size_bytes)

    async def _repeat(self, operation: str, request: Callable[[], Awaitable[T]], size_bytes: int = 0) -> T:
        attempts = self._attempts(operation, size_bytes)
        return await attempts.run(lambda: attempts.call(request))

    async def _put_once(self, attempts: _Attempts, path: str, parts: Sequence[Buffer]) -> bool:
        """Put the object and return True; False if the path is taken, maybe by an earlier attempt."""
        try:
            await attempts.call(lambda: self._inner.put_new(path, parts))
        except AlreadyExists:
            if not attempts.failed:
                raise
            return False
        return True

    async def _is_ours(self, attempts: _Attempts, path: str, parts: Sequence[Buffer]) -> bool:
        try:
            return _same(await attempts.call(lambda: self._inner.get(path)), parts)
        except NotFound:
            return False


def _same(whole: Buffer, parts: Sequence[Buffer]) -> bool:
    view, start = memoryview(whole).cast("B"), 0
    if view.nbytes != sum(memoryview(part).nbytes for part in parts):
        return False
    for part in parts:
        size = memoryview(part).nbytes
        # Comparing memoryviews unpacks each byte; comparing bytes is one memcmp, which is worth a copy.
        if bytes(view[start : start + size]) != bytes(part):
            return False
        start += size
    return True
