"""One run for all who ask for the same thing at the same time.

The run belongs to the supervisor, not to the caller who happened to be first: a cancelled caller leaves the
others undisturbed, and the run goes on even when nobody is left. Nothing is remembered: who asks after the
end of a run starts a new one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from typing import Generic, TypeVar

from dray.runtime.tasks import Tasks

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class FlightCancelled(Exception):
    """The shared run was cancelled (its supervisor was stopped); whether it had any effect is not known."""


class SingleFlight(Generic[K, V]):
    def __init__(self, tasks: Tasks, *, name: str = "single flight") -> None:
        self._tasks = tasks
        self._name = name
        self._flights: dict[K, asyncio.Future[V]] = {}

    def __len__(self) -> int:
        return len(self._flights)

    async def run(self, key: K, work: Callable[[], Awaitable[V]]) -> V:
        """Return the result, or raise the error, of the run for `key`; `work` starts one if there is none."""
        flight = self._flights.get(key)
        if flight is None:
            flight = asyncio.get_running_loop().create_future()
            run = self._tasks.start(self._fly(key, work, flight), name=f"{self._name} {key}")
            run.add_done_callback(partial(self._ended, key, flight))
            self._flights[key] = flight
        return await asyncio.shield(flight)

    async def _fly(self, key: K, work: Callable[[], Awaitable[V]], flight: asyncio.Future[V]) -> None:
        try:
            result = await work()
        except Exception as error:  # noqa: BLE001 - not swallowed: it is handed to everybody who waits
            self._fail(key, flight, error)
        else:
            del self._flights[key]
            flight.set_result(result)

    def _ended(self, key: K, flight: asyncio.Future[V], _: asyncio.Task[None]) -> None:
        """A run may be cancelled before its first step; then nobody but its task knows."""
        if not flight.done():
            self._fail(key, flight, FlightCancelled(f"{self._name} {key}"))

    def _fail(self, key: K, flight: asyncio.Future[V], error: Exception) -> None:
        del self._flights[key]
        flight.set_exception(error)
        flight.exception()  # all who waited may have been cancelled; then the error is nobody's
