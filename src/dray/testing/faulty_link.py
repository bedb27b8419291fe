"""A link to the memory metadata server that delays, loses and lets requests arrive late, by a seed.

The request never runs in the caller's task nor in its context: a caller that dies or is cancelled does not
stop a request that is under way, and what the server does for it belongs to nobody.
"""

import asyncio
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass
from typing import Generic, TypeVar

from dray.meta.memory import AnswerLost, CommitRefused
from dray.meta.port import MetaError, Unavailable
from dray.runtime import Entropy

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FaultyLinkSettings:
    """How often each fault happens, from 0 to 1; together at most 1."""

    refused: float = 0.02
    """The server cannot be reached and the caller is told so: `Unavailable`, never executed."""
    request_lost: float = 0.05
    """`AnswerLost`, never executed."""
    answer_lost: float = 0.05
    """`AnswerLost`, executed."""
    late: float = 0.05
    """`AnswerLost`, executed up to `late_ms` after the caller was told."""

    delay_ms: float = 5.0
    """The longest way to the server, and again back from it."""
    timeout_ms: float = 20.0
    """How long a caller waits before it takes an answer for lost."""
    late_ms: float = 2_000.0

    def __post_init__(self) -> None:
        if self.refused + self.request_lost + self.answer_lost + self.late > 1:
            raise ValueError(f"the faults' odds add up to more than one: {self}")


class FaultyLink:
    """A `Link`. `broken` cuts it: no request gets through while it is set."""

    def __init__(self, entropy: Entropy, settings: FaultyLinkSettings | None = None) -> None:
        self._entropy = entropy
        self._settings = settings or FaultyLinkSettings()
        self.broken = False
        self.faults = 0

    async def call(self, request: Callable[[], T]) -> T:
        way = _Way(request, asyncio.get_running_loop())
        self._send(way)
        return await way.answer

    def _send(self, way: "_Way[T]") -> None:
        settings = self._settings
        there, back = self._up_to(settings.delay_ms), self._up_to(settings.delay_ms)
        timeout = settings.timeout_ms / 1000
        fault = self._draw_fault()
        if fault is None:
            way.execute_after(there, answer_after=back)
            return
        self.faults += 1
        if fault == "refused":
            way.fail_after(back, Unavailable("the metadata server refused the connection"))
            return
        way.fail_after(timeout, AnswerLost())
        if fault == "answer lost":
            way.execute_after(min(there, timeout), answer_after=None)
        elif fault == "late":
            way.execute_after(timeout + self._up_to(settings.late_ms), answer_after=None)

    def _draw_fault(self) -> str | None:
        settings, drawn = self._settings, self._entropy.uniform(0.0, 1.0)
        if self.broken:
            return "request lost"
        for name, odds in (
            ("refused", settings.refused),
            ("request lost", settings.request_lost),
            ("answer lost", settings.answer_lost),
            ("late", settings.late),
        ):
            if drawn < odds:
                return name
            drawn -= odds
        return None

    def _up_to(self, most_ms: float) -> float:
        return self._entropy.uniform(0.0, most_ms) / 1000


class _Way(Generic[T]):
    """One request on its way, and the future its caller waits for."""

    def __init__(self, request: Callable[[], T], loop: asyncio.AbstractEventLoop) -> None:
        self._request = request
        self._loop = loop
        self.answer: asyncio.Future[T] = loop.create_future()

    def execute_after(self, seconds: float, *, answer_after: float | None) -> None:
        """Run the request later; without `answer_after`, nobody hears of it."""
        self._later(seconds, lambda: self._execute(answer_after))

    def fail_after(self, seconds: float, error: Exception) -> None:
        self._later(seconds, lambda: self._deliver(lambda: self.answer.set_exception(error)))

    def _execute(self, answer_after: float | None) -> None:
        try:
            result = self._request()
        except (CommitRefused, MetaError) as error:
            if answer_after is not None:
                self.fail_after(answer_after, error)
            return
        if answer_after is not None:
            self._later(answer_after, lambda: self._deliver(lambda: self.answer.set_result(result)))

    def _deliver(self, settle: Callable[[], None]) -> None:
        if not self.answer.done():  # a caller that was cancelled took its future with it
            settle()

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        self._loop.call_later(seconds, call, context=Context())
