"""Link to an in-memory metadata server whose faults and delays are set by tests."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Literal, TypeVar

from dray.meta.memory import ResponseLost
from dray.meta.port import Unavailable

T = TypeVar("T")
Fault = Literal["refuse", "lose request", "lose response"]


class ControlledLink:
    """Runs requests, with faults and delays by the name of the server's method."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.unavailable = False
        """Whether all requests are refused."""
        self.faults: dict[str, Fault] = {}
        self.held: dict[str, asyncio.Event] = {}
        """Responses of these calls are held until the event is set."""
        self.hang_after: int | None = None
        """After this many commits, the caller of the last never gets a response."""
        self.slow_by: Callable[[], float] | None = None
        """Latency of a request, and of its response."""

    async def call(self, request: Callable[[], T]) -> T:
        name = getattr(request, "func", request).__name__
        self.calls[name] += 1
        fault = "refuse" if self.unavailable else self.faults.get(name)
        await self._delay()
        if fault == "refuse":
            raise Unavailable("refused by the test")
        if fault == "lose request":
            raise ResponseLost
        response = request()
        await self._delay()
        if name == "commit" and self.hang_after is not None:
            self.hang_after -= 1
            if self.hang_after <= 0:
                await asyncio.get_running_loop().create_future()
        if fault == "lose response":
            raise ResponseLost
        if name in self.held:
            await self.held[name].wait()
        return response

    def hold(self, name: str) -> asyncio.Event:
        self.held[name] = asyncio.Event()
        return self.held[name]

    async def _delay(self) -> None:
        if self.slow_by is not None:
            await asyncio.sleep(self.slow_by())
