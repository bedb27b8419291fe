"""A deterministic event loop for simulation: virtual time, seeded order, processes that crash.

`run(main(), seed=7)` runs a whole simulated world in one thread; the same seed gives the same events in the
same order. There is no I/O and there are no threads; what is slow in the real world is a timer here.

*Time* stands still while anything is ready and then jumps to the next timer. With `step_seconds`, every step
also takes that long, so that timers can fall due in the middle of other work.

*Order.* A task that is ready may be put back to the end of the queue, again and again, as if what woke it had
come later; the seed decides, and also how often. Plain callbacks (`call_soon`, done callbacks, timers) are
never put back, and nothing overtakes them: asyncio promises that they run in the order they were registered.

*Crashes* happen between two steps; see `nodes`. `on_step` is called before each step with the node it belongs
to, so a test can crash node A at its k-th step.

*The end.* A simulation is over when `main` returns. What still waits then, in living and dead nodes alike, is
closed out of sight: its `finally` blocks run against a closed loop and their errors are ignored. Errors that
nobody handled while the simulation ran are raised by `run`.

Two things could still make runs differ, so mind them: iteration over sets of strings (PYTHONHASHSEED) and the
garbage collector, which `run` therefore only lets in at fixed steps. Tasks and futures hash by number here.
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

from dray.testing.disposal import dispose
from dray.testing.nodes import CURRENT_LIFE, Life, Node, life_of
from dray.testing.numbered import NumberedFuture, NumberedTask
from dray.testing.waiting import describe_waiting

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
OnStep = Callable[[Node | None], None]

TIME_LIMIT_SECONDS: Final = 86_400.0
STEP_LIMIT: Final = 5_000_000

_PUT_BACK_ODDS: Final = (0.1, 0.3, 0.6)
_STEPS_BETWEEN_CHECKS: Final = 1 << 18
_CANCELLED_TIMERS_KEPT: Final = 128


class SimulationError(Exception):
    """The simulated world cannot go on."""


class DeadLock(SimulationError):
    """Nothing is ready, no timer is set, and the main task is not done."""


class LimitReached(SimulationError):
    """The simulation took more steps or more virtual time than it was given."""


class VirtualLoop(asyncio.BaseEventLoop):
    """See the module's text. Overrides two private parts of asyncio's base loop: `_run_once` and
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
        self._odds = self._random.choice(_PUT_BACK_ODDS) if shuffle else 0.0
        self._step_seconds = step_seconds
        self._time_limit = time_limit
        self._step_limit = step_limit
        self._now = 0.0
        self._queue: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._cancelled_timers = 0
        self._numbers = 0
        self._tasks: dict[asyncio.Task[Any], Life | None] = {}
        self._tasks_before_pruning = 1024
        self._dropped: list[asyncio.Handle] = []
        self._halted = False
        self._oldest_garbage = 0
        self._next_check = min(_STEPS_BETWEEN_CHECKS, step_limit)
        self._thread = threading.get_ident()
        self.steps = 0
        self.unhandled: list[BaseException] = []
        self.on_step: OnStep | None = None
        self.set_exception_handler(_remember_unhandled)

    # What asyncio asks of a loop

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
        self._keep(task, CURRENT_LIFE.get() if context is None else context.get(CURRENT_LIFE))
        return task

    def run_in_executor(self, *_: object) -> NoReturn:
        raise RuntimeError("a simulation has no threads; hand the code under test something that needs none")

    def stop(self) -> None:
        super().stop()
        self._halted = True

    def close(self) -> None:
        """End the simulation and dispose of what it left; see the module's text."""
        if self.is_closed():
            return
        super().close()
        generation = 2 if gc.isenabled() else self._oldest_garbage
        gc.collect(generation)  # errors in garbage are told of while somebody listens
        self.unhandled += [
            failure for task, life in self._tasks.items() if (failure := _unseen_failure(task, life))
        ]
        self.set_exception_handler(lambda *_: None)
        dispose(list(self._tasks), self._forget_everything, generation=generation)

    # Running

    def _run_once(self) -> None:
        """Run what is ready, until nothing is or the loop is stopped."""
        queue, chance, odds = self._queue, self._random.random, self._odds
        self._halted = False
        if not queue:
            self._jump()
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
        life = life_of(handle)
        if life is None:
            if self.on_step is not None:
                self.on_step(None)
            handle._run()  # noqa: SLF001 - this is what loops are for
        else:
            self._step_in_node(handle, life)

    def _step_in_node(self, handle: asyncio.Handle, life: Life) -> None:
        if life.state == "alive":
            life.steps += 1
            if self.on_step is not None:
                self.on_step(life.node)
        # The hook may have changed the state.
        if life.state == "alive":
            handle._run()  # noqa: SLF001 - this is what loops are for
        elif life.state == "paused":
            life.held.append(handle)
        else:
            self._dropped.append(handle)

    def _jump(self) -> None:
        """Let time pass until the next timer of anybody alive."""
        timers = self._timers
        while timers:
            timer = timers[0][2]
            life = life_of(timer)
            if timer.cancelled():
                heappop(timers)
            elif life is not None and life.state == "crashed":
                self._dropped.append(heappop(timers)[2])
            else:
                self._pass_time(max(self._now, timer.when()))
                return
        raise DeadLock(f"nothing can ever happen again, at {self._progress()}; {self._waiting()}")

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
        """Do what must be done now and then, always at the same steps."""
        if self.steps >= self._step_limit:
            raise LimitReached(f"over {self._step_limit} steps, at {self._progress()}; {self._waiting()}")
        self._next_check = min(self.steps + _STEPS_BETWEEN_CHECKS, self._step_limit)
        if not gc.isenabled():
            gc.collect()
            self._oldest_garbage = 2

    # Keeping

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _keep(self, task: asyncio.Task[Any], life: Life | None) -> None:
        """Hold on to the task: nobody else may, once its node is dead, and only the end may close it."""
        self._tasks[task] = life
        if len(self._tasks) >= self._tasks_before_pruning:
            self._tasks = {task: life for task, life in self._tasks.items() if not task.done()}
            self._tasks_before_pruning = 1024 + 2 * len(self._tasks)

    def _timer_handle_cancelled(self, _: asyncio.TimerHandle) -> None:
        """Sweep out cancelled timers once they may be the half. (Those that have fired are counted too.)"""
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
            (task, repr(life) if life else "the world") for task, life in self._tasks.items()
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
    """Run a simulation from beginning to end; an error tells the seed that repeats it."""
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
            failure.add_note(f"errors that nobody handled: {loop.unhandled!r}")
        raise
    return result


def _raise_unhandled(loop: VirtualLoop) -> None:
    if loop.unhandled:
        raise BaseExceptionGroup("errors that nobody handled", loop.unhandled)


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
    callback = handle._callback  # type: ignore[attr-defined]  # noqa: SLF001 - no other way to tell
    return isinstance(getattr(callback, "__self__", None), asyncio.Task)


def _unseen_failure(task: asyncio.Task[Any], life: Life | None) -> BaseException | None:
    """Return the error of a task that nobody has looked at; the dead are not blamed."""
    if not task.done() or task.cancelled() or (life is not None and life.state == "crashed"):
        return None
    return task.exception() if task._log_traceback else None  # noqa: SLF001 - true until somebody looks


def _remember_unhandled(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    assert isinstance(loop, VirtualLoop)
    loop.unhandled.append(context.get("exception") or SimulationError(context["message"]))
