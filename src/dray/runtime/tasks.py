"""Task supervisor: every background task is started and stopped through it.

The supervisor keeps a reference to each task (the event loop alone does not) and reports every failure: an
exception that ends a task goes to `on_failure`, whether or not the task is awaited. Work whose errors belong
to its caller should pass them on through a future instead of failing.

A broad `except` that continues is right in few places: in `every`, because a periodic task must survive one
failed step; and where the error is passed to the caller, as in `threads` and in the workers of Spark.
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
    """A task was not started, because `Tasks.stop` had been called."""


def log_failure(name: str, failure: BaseException) -> None:
    _log.error("task_failed", task=name, exc_info=failure)


class Tasks:
    """Owns the tasks that are started through it."""

    def __init__(self, on_failure: OnFailure = log_failure) -> None:
        self._on_failure = on_failure
        self._running: dict[
            asyncio.Task[Any], None
        ] = {}  # a set in the order of insertion, so that simulations repeat
        self._stopped = False
        self._failures = 0

    @property
    def failures(self) -> int:
        """How many tasks and periodic steps have failed so far."""
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
        """Run `step`, wait `seconds`, and repeat until stopped; a failed step is only reported."""
        return self.start(self._repeat(seconds, step, name, clock), name=name)

    async def stop(self) -> None:
        """Cancel all tasks and wait until each has ended; no task can be started afterwards.

        Failures on the way are reported as usual and never raised here. If the caller is itself one of the
        tasks, it keeps running. If the caller is cancelled, another call resumes waiting.
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
            except Exception as failure:  # noqa: BLE001 - one failed step must not end the worker
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
