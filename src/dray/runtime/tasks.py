"""The one task supervisor.

Whoever needs something to run beside itself starts it here, and stops it here. The supervisor keeps each task
referenced (the event loop alone does not), and tells of every failure: an exception that ends a task goes to
`on_failure` whether or not anybody awaits that task. Work whose errors belong to its callers
should hand them over through a future instead of failing.

A broad `except` that goes on is right in few places: in `every`, as a periodic worker must outlive one bad
step; and where the error is handed to whoever asked, as in `threads` and in the workers of Spark.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from dray.observe import get_logger
from dray.runtime.clock import Clock

T = TypeVar("T")
OnFailure = Callable[[str, BaseException], None]

_log = get_logger("runtime")


class SupervisorStopped(RuntimeError):
    """A task was to be started after `Tasks.stop`; it was not."""


def log_failure(name: str, failure: BaseException) -> None:
    _log.error("task_failed", task=name, exc_info=failure)


class Tasks:
    """Owns the tasks started through it, from start to stop."""

    def __init__(self, on_failure: OnFailure = log_failure) -> None:
        self._on_failure = on_failure
        self._running: dict[
            asyncio.Task[Any], None
        ] = {}  # a set in the order of starting, so that runs repeat
        self._stopped = False
        self._failures = 0

    @property
    def failures(self) -> int:
        """How many tasks, and steps of periodic ones, have failed so far."""
        return self._failures

    def __len__(self) -> int:
        return len(self._running)

    def start(self, coro: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        if self._stopped:
            coro.close()
            raise SupervisorStopped(f"{name} was not started: its supervisor has been stopped")
        task = asyncio.get_running_loop().create_task(coro, name=name)
        self._running[task] = None
        task.add_done_callback(self._ended)
        return task

    def every(
        self, seconds: float, step: Callable[[], Awaitable[None]], *, name: str, clock: Clock
    ) -> asyncio.Task[None]:
        """Run `step`, wait `seconds`, and so on until stopped; a failed step is told of and outlived."""
        return self.start(self._repeat(seconds, step, name, clock), name=name)

    async def stop(self) -> None:
        """Cancel all tasks and wait until each has ended; nothing can be started any more.

        Failures met on the way are told of as usual and never raised here. A caller that is itself one of
        the tasks is left running. If the caller is cancelled meanwhile, calling again goes on waiting.
        """
        self._stopped = True
        me = asyncio.current_task()
        others = [task for task in self._running if task is not me]
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others)

    async def _repeat(
        self, seconds: float, step: Callable[[], Awaitable[None]], name: str, clock: Clock
    ) -> None:
        while True:
            try:
                await step()
            except Exception as failure:  # noqa: BLE001 - one bad step must not end the worker
                self._failed(name, failure)
            await clock.sleep(seconds)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.pop(task, None)
        if task.cancelled():
            return
        failure = task.exception()
        if failure is not None:
            self._failed(task.get_name(), failure)

    def _failed(self, name: str, failure: BaseException) -> None:
        self._failures += 1
        self._on_failure(name, failure)
