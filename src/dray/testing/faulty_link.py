"""Faulty link to the in-memory metadata server: requests are delayed, lost or late, by seed.

A request runs in neither the task nor the context of its caller: a caller that dies or is cancelled does not
stop a request in flight, and the server's work belongs to no node.
"""

import asyncio
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass
from typing import Generic, TypeVar

from dray.meta.memory import CommitRefused, ResponseLost
from dray.meta.port import MetaError, Unavailable
from dray.runtime import Entropy

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FaultyLinkSettings:
    """Probabilities of the faults, which add up to at most 1, and delays."""

    refused: float = 0.02
    """The connection is refused: `Unavailable`, never executed."""
    request_lost: float = 0.05
    """`ResponseLost`, never executed."""
    answer_lost: float = 0.05
    """`ResponseLost`, executed."""
    late: float = 0.05
    """`ResponseLost`, executed up to `late_ms` after the caller's timeout."""

    delay_ms: float = 5.0
    """Maximum delay of a request, and of a response."""
    timeout_ms: float = 20.0
    """Time after which a caller takes the response for lost."""
    late_ms: float = 2_000.0

    def __post_init__(self) -> None:
        if self.refused + self.request_lost + self.answer_lost + self.late > 1:
            raise ValueError(f"the probabilities of the faults add up to more than one: {self}")


class FaultyLink:
    """A `Link`. No request arrives while `broken` is set."""

    def __init__(self, entropy: Entropy, settings: FaultyLinkSettings | None = None) -> None:
        self._entropy = entropy
        self._settings = settings or FaultyLinkSettings()
        self.broken = False
        self.faults = 0

    async def call(self, request: Callable[[], T]) -> T:
        flight = InFlight(request, asyncio.get_running_loop())
        self._send(flight)
        return await flight.response

    def _send(self, flight: "InFlight[T]") -> None:
        settings = self._settings
        there, back = self._up_to(settings.delay_ms), self._up_to(settings.delay_ms)
        timeout = settings.timeout_ms / 1000
        fault = self._draw_fault()
        if fault is None:
            flight.execute_after(there, response_after=back)
            return
        self.faults += 1
        if fault == "refused":
            flight.fail_after(back, Unavailable("the metadata server refused the connection"))
            return
        flight.fail_after(timeout, ResponseLost())
        if fault == "answer lost":
            flight.execute_after(min(there, timeout), response_after=None)
        elif fault == "late":
            flight.execute_after(timeout + self._up_to(settings.late_ms), response_after=None)

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


class InFlight(Generic[T]):
    """One request in flight, and the future for which its caller waits."""

    def __init__(self, request: Callable[[], T], loop: asyncio.AbstractEventLoop) -> None:
        self._request = request
        self._loop = loop
        self.response: asyncio.Future[T] = loop.create_future()

    def execute_after(self, seconds: float, *, response_after: float | None) -> None:
        """Execute the request later; without `response_after` its response is lost."""

        def execute() -> None:
            deliver = self.execute()
            if response_after is not None:
                self.later(response_after, deliver)

        self.later(seconds, execute)

    def fail_after(self, seconds: float, error: Exception) -> None:
        self.later(seconds, lambda: self._settle(lambda: self.response.set_exception(error)))

    def execute(self) -> Callable[[], None]:
        """Execute the request now; returns what delivers its response."""
        try:
            result = self._request()
        except (CommitRefused, MetaError) as error:
            refusal = error
            return lambda: self._settle(lambda: self.response.set_exception(refusal))
        return lambda: self._settle(lambda: self.response.set_result(result))

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call a function later, outside any node."""
        self._loop.call_later(seconds, call, context=Context())

    def _settle(self, settle: Callable[[], None]) -> None:
        if not self.response.done():  # the future of a cancelled caller is cancelled too
            settle()
