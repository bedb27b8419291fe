"""Faulty object store, which fails as real ones do, by seed; for simulation and tests.

Requests to the bucket and responses from it are delayed, and either may be lost. All faults raise
`Unavailable`:

    lost_request    the request is never executed
    lost_answer     the request is executed
    late            the request is executed some time after the error
    torn            the bytes of a read end early

Timers of the event loop call the bucket, not the caller's task: a caller that dies does not stop a request in
flight. There are no threads and no wall clock, so on a deterministic loop one seed gives one history.
Listings are consistent, as in real stores.
"""

import asyncio
import contextvars
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, TypeVar

from typing_extensions import Buffer

from dray.objects.memory import MemoryBucket
from dray.objects.paths import check_path, check_prefix, check_ranges
from dray.objects.port import ByteRange, ObjectError, ObjectInfo, Unavailable
from dray.runtime import Entropy

T = TypeVar("T")
Fault = Literal["none", "lost_request", "lost_answer", "late", "torn"]

_PAGE: Final = 1_000


@dataclass(frozen=True, slots=True)
class ObjectFaults:
    """Probabilities from 0 to 1, and times in seconds, drawn uniformly between 0 and the maximum."""

    lost_request: float = 0.0
    lost_answer: float = 0.0
    late: float = 0.0
    torn: float = 0.0
    travel_max_s: float = 0.0
    late_max_s: float = 30.0


class FaultyObjects:
    """One client of an in-memory bucket over an unreliable network."""

    def __init__(self, bucket: MemoryBucket, entropy: Entropy, settings: ObjectFaults) -> None:
        self._bucket = bucket
        self._entropy = entropy
        self._settings = settings

    async def put_new(self, path: str, parts: Sequence[Buffer]) -> None:
        check_path(path)
        await self._send(partial(self._bucket.put_new, path, tuple(parts)), f"put of {path}")

    async def get(self, path: str) -> Buffer:
        check_path(path)
        return await self._send(partial(self._bucket.get, path), f"read of {path}", tears=True)

    async def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        check_path(path)
        check_ranges(ranges)
        read = partial(self._bucket.get_ranges, path, tuple(ranges))
        return await self._send(read, f"read of {path}", tears=True)

    async def head(self, path: str) -> ObjectInfo:
        check_path(path)
        return await self._send(partial(self._bucket.head, path), f"head of {path}")

    async def list(self, prefix: str, after: str = "") -> AsyncIterator[ObjectInfo]:
        check_prefix(prefix)
        full = True
        while full:
            page = await self._send(partial(self._bucket.page, prefix, after, _PAGE), f"list of {prefix}")
            full = len(page) == _PAGE
            for info in page:
                yield info
                after = info.path

    async def delete(self, path: str) -> None:
        check_path(path)
        await self._send(partial(self._bucket.delete, path), f"delete of {path}")

    async def close(self) -> None:
        """Requests in flight are not affected."""

    async def _send(self, request: Callable[[], T], what: str, *, tears: bool = False) -> T:
        fault = self._draw(tears=tears)
        if fault != "none":
            return await self._send_with_fault(request, what, fault)
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._after(self._travel(), partial(self._arrive, request, answer))
        return await answer

    async def _send_with_fault(self, request: Callable[[], T], what: str, fault: Fault) -> T:
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        failed_s = self._travel()
        if fault in ("lost_answer", "torn"):
            self._after(min(failed_s, self._travel()), partial(_execute, request))
        elif fault == "late":
            late_s = failed_s + self._entropy.uniform(0, self._settings.late_max_s)
            self._after(late_s, partial(_execute, request))
        self._after(failed_s, partial(_fail, answer, Unavailable(f"{what}: simulated fault ({fault})")))
        return await answer

    def _arrive(self, request: Callable[[], T], answer: asyncio.Future[T]) -> None:
        """Execute the request in the bucket and send its result or error back."""
        try:
            result = request()
        except ObjectError as error:
            self._after(self._travel(), partial(_fail, answer, error))
        else:
            self._after(self._travel(), partial(_succeed, answer, result))

    def _draw(self, *, tears: bool) -> Fault:
        at = self._entropy.uniform(0, 1)
        odds: list[tuple[Fault, float]] = [
            ("lost_request", self._settings.lost_request),
            ("lost_answer", self._settings.lost_answer),
            ("late", self._settings.late),
            ("torn", self._settings.torn if tears else 0.0),
        ]
        for fault, chance in odds:
            if at < chance:
                return fault
            at -= chance
        return "none"

    def _travel(self) -> float:
        return self._entropy.uniform(0, self._settings.travel_max_s)

    def _after(self, seconds: float, act: Callable[[], None]) -> None:
        # A new context, so that the bucket's work does not belong to the caller's node.
        asyncio.get_running_loop().call_later(seconds, act, context=contextvars.Context())


def _execute(request: Callable[[], object]) -> None:
    """Execute a request without a response."""
    try:
        request()
    except ObjectError:
        return


def _fail(answer: "asyncio.Future[T]", error: ObjectError) -> None:
    if not answer.done():
        answer.set_exception(error)
        # A crashed caller never retrieves it; asyncio must not report it as unhandled.
        answer.exception()


def _succeed(answer: "asyncio.Future[T]", result: T) -> None:
    if not answer.done():
        answer.set_result(result)
