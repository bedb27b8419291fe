"""Deterministic event loop for simulation: virtual time, seeded scheduling, processes that crash.

`run(main(), seed=7)` runs a simulated world in one thread; the same seed gives the same events in the same
order. There is no I/O and there are no threads; slow operations of the real world are timers here.

*Time* stands still while anything is ready and then jumps to the next timer. With `step_seconds`, every step
also takes that long, so that timers can expire in the middle of other work.

*Order.* A ready task may be moved to the end of the queue repeatedly, as if it had been woken later; the seed
determines when, and how often. Plain callbacks (`call_soon`, done callbacks, timers) are never moved, and
nothing overtakes them: asyncio guarantees that they run in the order in which they were registered.

*Crashes* happen between two steps; see `nodes`. `on_step` is called before each step with the node it belongs
to, so a test can crash node A at its k-th step.

*End.* A simulation is over when `main` returns. Tasks that still wait, of live and crashed nodes, are closed
silently: their `finally` blocks run against a closed loop and their errors are ignored. Unhandled errors
during the simulation are raised by `run`.

Two sources of nondeterminism remain: iteration over sets of strings (PYTHONHASHSEED), and the garbage
collector, which `run` therefore only allows at fixed steps. Tasks and futures hash by number.
"""

import asyncio
import gc
import random
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import Context
from heapq import heapify, heappop, heappush
from typing import Any, Final, NoReturn, TypeVar, TypeVarTuple

from dray.testing.nodes import CURRENT_INCARNATION, Incarnation, Node, incarnation_of
from dray.testing.virtual_tasks import NumberedFuture, NumberedTask, describe_waiting, dispose

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
OnStep = Callable[[Node | None], None]

TIME_LIMIT_SECONDS: Final = 86_400.0
STEP_LIMIT: Final = 5_000_000

_DEFER_ODDS: Final = (0.1, 0.3, 0.6)
_STEPS_BETWEEN_CHECKS: Final = 1 << 18
_CANCELLED_TIMERS_KEPT: Final = 128


class SimulationError(Exception):
    """The simulated world cannot continue."""


class Deadlock(SimulationError):
    """Nothing is ready, no timer is set, and the main task is not done."""


class LimitReached(SimulationError):
    """The simulation exceeded its limit of steps or of virtual time."""


class VirtualLoop(asyncio.BaseEventLoop):
    """See the module docstring. Overrides two private methods of asyncio's base loop: `_run_once` and
    `_timer_handle_cancelled`.
    """

    def __init__(
        self,
        seed: int | str = 0,
        *,
        shuffle: bool = True,
        step_seconds: float = 0.0,
        time_limit: float = TIME_LIMIT_SECONDS,
        step_limit: int = STEP_LIMIT,
    ) -> None:
        super().__init__()
        self._random = random.Random(f"order of steps {seed}")
        self._odds = self._random.choice(_DEFER_ODDS) if shuffle else 0.0
        self._step_seconds = step_seconds
        self._time_limit = time_limit
        self._step_limit = step_limit
        self._now = 0.0
        self._queue: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._cancelled_timers = 0
        self._numbers = 0
        self._tasks: dict[asyncio.Task[Any], Incarnation | None] = {}
        self._tasks_before_pruning = 1024
        self._dropped: list[asyncio.Handle] = []
        self._halted = False
        self._oldest_garbage = 0
        self._next_check = min(_STEPS_BETWEEN_CHECKS, step_limit)
        self._thread = threading.get_ident()
        self.steps = 0
        self.unhandled: list[BaseException] = []
        self.on_step: OnStep | None = None
        self.set_exception_handler(_record_unhandled)

    # The interface of event loops

    def time(self) -> float:
        return self._now

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        if self.is_closed():
            raise RuntimeError("the simulation is over")
        handle = asyncio.Handle(callback, args, self, context)
        self._queue.append(handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        if threading.get_ident() != self._thread:
            raise RuntimeError("a simulation has one thread; something called into it from another")
        return self.call_soon(callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        if self.is_closed():
            raise RuntimeError("the simulation is over")
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heappush(self._timers, (when, self._number(), timer))
        return timer

    def create_future(self) -> asyncio.Future[Any]:
        future = NumberedFuture(loop=self)
        future.number = self._number()
        return future

    def create_task(  # type: ignore[override]  # asyncio also takes generators; we have none
        self,
        coro: Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        if self.is_closed():
            raise RuntimeError("the simulation is over")
        number = self._number()
        name = f"task {number}" if name is None else str(name)
        task = NumberedTask(coro, loop=self, name=name, context=context, number=number)
        self._keep(task, CURRENT_INCARNATION.get() if context is None else context.get(CURRENT_INCARNATION))
        return task

    def run_in_executor(self, *_: object) -> NoReturn:
        raise RuntimeError("a simulation has no threads; hand the code under test something that needs none")

    def stop(self) -> None:
        super().stop()
        self._halted = True

    def close(self) -> None:
        """End the simulation and dispose of its tasks; see the module docstring."""
        if self.is_closed():
            return
        super().close()
        generation = 2 if gc.isenabled() else self._oldest_garbage
        gc.collect(generation)  # reports errors of garbage while the exception handler is still set
        self.unhandled += [
            failure
            for task, incarnation in self._tasks.items()
            if (failure := _unretrieved_failure(task, incarnation))
        ]
        self.set_exception_handler(lambda *_: None)
        dispose(list(self._tasks), self._forget_everything, generation=generation)

    # Running

    def _run_once(self) -> None:
        """Run ready handles until there are none or the loop is stopped."""
        queue, chance, odds = self._queue, self._random.random, self._odds
        self._halted = False
        if not queue:
            self._advance_to_next_timer()
        while queue and not self._halted:
            handle = queue.popleft()
            if handle.cancelled():
                continue
            if odds and queue and chance() < odds and _is_task_step(handle):
                queue.append(handle)
            else:
                self._step(handle)

    def _step(self, handle: asyncio.Handle) -> None:
        self.steps += 1
        if self.steps >= self._next_check:
            self._check()
        if self._step_seconds:
            self._pass_time(self._now + self._step_seconds)
        incarnation = incarnation_of(handle)
        if incarnation is None:
            if self.on_step is not None:
                self.on_step(None)
            handle._run()  # noqa: SLF001 - this is what loops are for
        else:
            self._step_in_node(handle, incarnation)

    def _step_in_node(self, handle: asyncio.Handle, incarnation: Incarnation) -> None:
        if incarnation.state == "alive":
            incarnation.steps += 1
            if self.on_step is not None:
                self.on_step(incarnation.node)
        # The hook may have changed the state.
        if incarnation.state == "alive":
            handle._run()  # noqa: SLF001 - this is what loops are for
        elif incarnation.state == "paused":
            incarnation.held.append(handle)
        else:
            self._dropped.append(handle)

    def _advance_to_next_timer(self) -> None:
        """Advance the time to the next timer that is not a crashed node's."""
        timers = self._timers
        while timers:
            timer = timers[0][2]
            incarnation = incarnation_of(timer)
            if timer.cancelled():
                heappop(timers)
            elif incarnation is not None and incarnation.state == "crashed":
                self._dropped.append(heappop(timers)[2])
            else:
                self._pass_time(max(self._now, timer.when()))
                return
        raise Deadlock(f"nothing is ready and no timer is set, at {self._progress()}; {self._waiting()}")

    def _pass_time(self, now: float) -> None:
        if now > self._time_limit:
            raise LimitReached(
                f"over {self._time_limit} virtual seconds, at {self._progress()}; {self._waiting()}"
            )
        self._now = now
        timers = self._timers
        while timers and timers[0][0] <= now:
            self._queue.append(heappop(timers)[2])

    def _check(self) -> None:
        """Check the step limit and collect garbage, always at the same steps."""
        if self.steps >= self._step_limit:
            raise LimitReached(f"over {self._step_limit} steps, at {self._progress()}; {self._waiting()}")
        self._next_check = min(self.steps + _STEPS_BETWEEN_CHECKS, self._step_limit)
        if not gc.isenabled():
            gc.collect()
            self._oldest_garbage = 2

    # Bookkeeping
    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _keep(self, task: asyncio.Task[Any], incarnation: Incarnation | None) -> None:
        """Keep a reference to the task: a crashed node has none, and only `close` may close its coroutine."""
        self._tasks[task] = incarnation
        if len(self._tasks) >= self._tasks_before_pruning:
            self._tasks = {task: incarnation for task, incarnation in self._tasks.items() if not task.done()}
            self._tasks_before_pruning = 1024 + 2 * len(self._tasks)

    def _timer_handle_cancelled(self, _: asyncio.TimerHandle) -> None:
        """Remove cancelled timers once they may be half of all. (Those that have fired are counted too.)"""
        self._cancelled_timers += 1
        if self._cancelled_timers > _CANCELLED_TIMERS_KEPT + len(self._timers) // 2:
            self._timers = [entry for entry in self._timers if not entry[2].cancelled()]
            heapify(self._timers)
            self._cancelled_timers = 0

    def _forget_everything(self) -> None:
        self._tasks.clear()
        self._queue.clear()
        self._timers.clear()
        self._dropped.clear()

    def _progress(self) -> str:
        return f"{self._now:.6f} virtual seconds, step {self.steps}"

    def _waiting(self) -> str:
        return describe_waiting(
            (task, repr(incarnation) if incarnation else "the world")
            for task, incarnation in self._tasks.items()
        )


def run(
    main: Coroutine[Any, Any, T],
    *,
    seed: int | str = 0,
    shuffle: bool = True,
    step_seconds: float = 0.0,
    time_limit: float = TIME_LIMIT_SECONDS,
    step_limit: int = STEP_LIMIT,
    on_step: OnStep | None = None,
) -> T:
    """Run a simulation to its end; errors have a note with the seed that reproduces them."""
    loop = VirtualLoop(
        seed, shuffle=shuffle, step_seconds=step_seconds, time_limit=time_limit, step_limit=step_limit
    )
    loop.on_step = on_step
    try:
        with _collector_paused():
            try:
                result = loop.run_until_complete(main)
            finally:
                loop.close()
        _raise_unhandled(loop)
    except BaseException as failure:
        failure.add_note(
            f"simulation with seed {seed!r}, {loop.steps} steps, {loop.time():.6f} virtual seconds"
        )
        if loop.unhandled:
            failure.add_note(f"unhandled errors: {loop.unhandled!r}")
        raise
    return result


def _raise_unhandled(loop: VirtualLoop) -> None:
    if loop.unhandled:
        raise BaseExceptionGroup("unhandled errors", loop.unhandled)


def virtual_loop() -> VirtualLoop:
    """Return the loop that is running, which must be a virtual one."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, VirtualLoop):
        raise TypeError(f"expected a simulation, but {loop!r} is running")
    return loop


@contextmanager
def _collector_paused() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _is_task_step(handle: asyncio.Handle) -> bool:
    callback = handle._callback  # type: ignore[attr-defined]  # noqa: SLF001 - there is no public way
    return isinstance(getattr(callback, "__self__", None), asyncio.Task)


def _unretrieved_failure(task: asyncio.Task[Any], incarnation: Incarnation | None) -> BaseException | None:
    """Return the error of a task if it was never retrieved; tasks of crashed nodes do not count."""
    if not task.done() or task.cancelled() or (incarnation is not None and incarnation.state == "crashed"):
        return None
    return task.exception() if task._log_traceback else None  # noqa: SLF001 - true until it is retrieved


def _record_unhandled(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    assert isinstance(loop, VirtualLoop)
    loop.unhandled.append(context.get("exception") or SimulationError(context["message"]))
