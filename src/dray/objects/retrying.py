"""A store that tries again what may pass.

Only `Unavailable`, and an attempt that takes too long, are tried again: after a wait that doubles each
time and is drawn at random from its upper half, until the attempts or the time are used up.

A put that failed so may have happened after all, or may happen while we try again. The path may then belong
to our own earlier attempt: `AlreadyExists` is settled by reading the object back. Our bytes mean success,
others that somebody else was first. So nobody should put the same bytes twice to one path and count
on an error.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from typing_extensions import Buffer

from dray.objects.port import AlreadyExists, ByteRange, NotFound, ObjectInfo, ObjectStore, Unavailable
from dray.runtime import Clock, Entropy

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetrySettings:
    """How long to go on; the defaults outlast a short throttling and a failed-over endpoint."""

    attempts_max: int = 10
    total_s: float = 60.0
    attempt_s: float = 20.0
    delay_first_s: float = 0.05
    delay_max_s: float = 5.0


class _Attempts:
    """The attempts at one call: how many so far, and whether another is allowed."""

    def __init__(self, what: str, clock: Clock, entropy: Entropy, settings: RetrySettings) -> None:
        self._what = what
        self._clock = clock
        self._entropy = entropy
        self._settings = settings
        self.restart()

    def restart(self) -> None:
        """Forget past failures; something went well."""
        self.failed = 0
        self._started = self._clock.monotonic()

    async def run(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Attempt until it succeeds, fails for good, or may not be attempted again."""
        while True:
            try:
                return await attempt()
            except Unavailable as error:
                await self.wait_after(error)

    async def call(self, request: Callable[[], Awaitable[T]]) -> T:
        """Send one request and wait for its answer as long as one may take."""
        try:
            async with asyncio.timeout(self._settings.attempt_s):
                return await request()
        except TimeoutError:
            raise Unavailable(f"{self._what}: no answer within {self._settings.attempt_s:g} s") from None

    async def wait_after(self, error: Unavailable) -> None:
        """Sleep until the next attempt, or raise what stopped the last one."""
        self.failed += 1
        delay = self._delay()
        spent = self._clock.monotonic() - self._started
        if self.failed >= self._settings.attempts_max or spent + delay > self._settings.total_s:
            raise Unavailable(
                f"{self._what} failed {self.failed} times in {spent:.1f} s, last with: {error}"
            ) from error
        await self._clock.sleep(delay)

    def _delay(self) -> float:
        doubled = self._settings.delay_first_s * 2 ** (self.failed - 1)
        ceiling = min(self._settings.delay_max_s, doubled)
        return self._entropy.uniform(ceiling / 2, ceiling)


class Retrying:
    """Wraps a store; give the store itself no retries of its own."""

    def __init__(
        self, inner: ObjectStore, clock: Clock, entropy: Entropy, settings: RetrySettings | None = None
    ) -> None:
        self._inner = inner
        self._clock = clock
        self._entropy = entropy
        self._settings = settings or RetrySettings()

    async def put_new(self, path: str, parts: Sequence[Buffer]) -> None:
        attempts = self._attempts(f"put of {path}")
        taken = False

        async def attempt() -> None:
            nonlocal taken
            if not taken:
                taken = not await self._put_once(attempts, path, parts)
            if taken and not await self._is_ours(attempts, path, parts):
                raise AlreadyExists(f"{path} was put by somebody else, with other bytes than ours")

        await attempts.run(attempt)

    async def get(self, path: str) -> Buffer:
        return await self._repeat(f"read of {path}", lambda: self._inner.get(path))

    async def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        return await self._repeat(f"read of {path}", lambda: self._inner.get_ranges(path, ranges))

    async def head(self, path: str) -> ObjectInfo:
        return await self._repeat(f"head of {path}", lambda: self._inner.head(path))

    async def list(self, prefix: str, after: str = "") -> AsyncIterator[ObjectInfo]:
        """Go on behind the last object told when the listing breaks off."""
        attempts = self._attempts(f"list of {prefix}")
        while True:
            try:
                listing = self._inner.list(prefix, after)
                while (info := await attempts.call(partial(anext, listing, None))) is not None:
                    attempts.restart()
                    after = info.path
                    yield info
            except Unavailable as error:
                await attempts.wait_after(error)
            else:
                return

    async def delete(self, path: str) -> None:
        await self._repeat(f"delete of {path}", lambda: self._inner.delete(path))

    async def close(self) -> None:
        await self._inner.close()

    def _attempts(self, what: str) -> _Attempts:
        return _Attempts(what, self._clock, self._entropy, self._settings)

    async def _repeat(self, what: str, request: Callable[[], Awaitable[T]]) -> T:
        attempts = self._attempts(what)
        return await attempts.run(lambda: attempts.call(request))

    async def _put_once(self, attempts: _Attempts, path: str, parts: Sequence[Buffer]) -> bool:
        """Put it and return True, or return False if the path is taken, perhaps by an earlier attempt."""
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
        # Comparing memoryviews unpacks each byte; comparing bytes is one memcmp, worth a copy of one part.
        if bytes(view[start : start + size]) != bytes(part):
            return False
        start += size
    return True
