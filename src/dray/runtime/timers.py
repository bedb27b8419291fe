"""Keyed timers over one priority queue and one sleeping task.

Made for sessions and timeouts that are reset all the time and hardly ever fire. Postponing a timer only
records the new time; its queue entry is moved when the old time comes. Stale entries stay in the queue until
they come up or outnumber the live ones, so the queue is never much larger than the number of timers.

A timer that fires is removed first, then its action starts as a task of the supervisor: it may set the timer
again, and the supervisor reports its failure.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Final, Generic, TypeVar

from dray.runtime.clock import Clock
from dray.runtime.tasks import Tasks

K = TypeVar("K", bound=Hashable)
Action = Callable[[], Awaitable[None]]

_STALE_KEPT: Final = 64


@dataclass(slots=True)
class _Timer:
    due: float
    action: Action
    entry: int  # the one entry of the queue that is this timer's
    entry_due: float  # never later than `due`


class Timers(Generic[K]):
    """The timers of one owner; all times are those of `clock.monotonic`."""

    def __init__(self, clock: Clock, tasks: Tasks, *, name: str = "timer") -> None:
        self._clock = clock
        self._tasks = tasks
        self._name = name
        self._timers: dict[K, _Timer] = {}
        self._queue: list[tuple[float, int, K]] = []
        self._entries = 0
        self._sleeper: asyncio.Task[None] | None = None
        self._sleeps_until = math.inf
        self._stopped = False

    def __len__(self) -> int:
        return len(self._timers)

    def __contains__(self, key: K) -> bool:
        return key in self._timers

    def set(self, key: K, after_seconds: float, action: Action) -> None:
        """Run `action` after that time, in place of an earlier timer of this key."""
        self.set_at(key, self._clock.monotonic() + after_seconds, action)

    def set_at(self, key: K, due: float, action: Action) -> None:
        """Run `action` at that time, in place of an earlier timer of this key. Does nothing once stopped."""
        if self._stopped:
            return
        timer = self._timers.get(key)
        if timer is not None and timer.entry_due <= due:
            timer.due, timer.action = due, action
            return
        self._timers[key] = _Timer(due, action, self._enqueue(due, key), due)
        self._drop_stale_entries()
        if due < self._sleeps_until:
            self._sleep()

    def cancel(self, key: K) -> bool:
        """Remove the timer, and return whether there was one. A running action is not stopped."""
        return self._timers.pop(key, None) is not None

    def stop(self) -> None:
        """Remove all timers for good; nothing fires any more."""
        self._stopped = True
        self._timers.clear()
        self._queue.clear()
        if self._sleeper is not None:
            self._sleeper.cancel()

    def _enqueue(self, due: float, key: K) -> int:
        self._entries += 1
        heappush(self._queue, (due, self._entries, key))
        return self._entries

    def _drop_stale_entries(self) -> None:
        if len(self._queue) > _STALE_KEPT + 2 * len(self._timers):
            self._queue = [(timer.entry_due, timer.entry, key) for key, timer in self._timers.items()]
            heapify(self._queue)

    def _sleep(self) -> None:
        """Start the one sleeping task, which sleeps until the first entry is due."""
        if self._sleeper is not None:
            self._sleeper.cancel()
        self._sleeps_until = -math.inf  # the new task reads the queue when it starts
        self._sleeper = self._tasks.start(self._sleep_and_fire(), name=self._name)

    async def _sleep_and_fire(self) -> None:
        while self._queue:
            self._sleeps_until = self._queue[0][0]
            wait = self._sleeps_until - self._clock.monotonic()
            if wait > 0:
                await self._clock.sleep(wait)
            self._fire_due()
        self._sleeper = None
        self._sleeps_until = math.inf

    def _fire_due(self) -> None:
        now = self._clock.monotonic()
        while self._queue and self._queue[0][0] <= now:
            _, entry, key = heappop(self._queue)
            timer = self._timers.get(key)
            if timer is None or timer.entry != entry:
                continue
            if timer.due > now:
                timer.entry, timer.entry_due = self._enqueue(timer.due, key), timer.due
                continue
            del self._timers[key]
            self._tasks.start(_act(timer.action), name=f"{self._name} {key}")


async def _act(action: Action) -> None:
    """Call the action inside its own task, so that a failing call does not end the sleeping one."""
    await action()
