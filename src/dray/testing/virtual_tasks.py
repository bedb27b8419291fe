"""Tasks of a virtual loop: deterministic hashes, a report of what they wait for, and their disposal.

*Hashes.* asyncio keeps tasks and futures in sets (`wait`, `TaskGroup`, `all_tasks`) and iterates over them.
Hashed by address, they would be visited in another order in each run of a seed; here they hash by a number.

*Disposal.* Tasks of a finished simulation are still suspended. Closing them runs their `finally` blocks,
which may await, schedule, log or raise; none of that may reach the test, which is over. So warnings,
unraisable errors and the errors of those blocks are ignored here, and only here.
"""

import asyncio
import contextlib
import gc
import sys
import warnings
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextvars import Context, copy_context
from pathlib import PurePath
from types import FrameType
from typing import Any, Final, TypeVar

T = TypeVar("T")
_CLOSE_ATTEMPTS_MAX: Final = 100
_TASKS_SHOWN: Final = 30


class NumberedTask(asyncio.Task[T]):
    def __init__(
        self,
        coro: Coroutine[Any, Any, T],
        *,
        loop: asyncio.AbstractEventLoop,
        name: str,
        context: Context | None,
        number: int,
    ) -> None:
        self.number = number  # first, because the set of all tasks needs the hash
        super().__init__(coro, loop=loop, name=name, context=context)

    def __hash__(self) -> int:
        return self.number


class NumberedFuture(asyncio.Future[Any]):
    number = 0

    def __hash__(self) -> int:
        return self.number


def describe_waiting(tasks: Iterable[tuple[asyncio.Task[Any], str]]) -> str:
    """Describe the tasks that are not done: each with the name of its owner and its chain of awaits."""
    waiting = [(task, owner) for task, owner in tasks if not task.done()]
    lines = [f"{len(waiting)} tasks are waiting:"]
    for task, owner in waiting[:_TASKS_SHOWN]:
        lines.append(f"  {task.get_name()} of {owner}")
        lines.extend(f"    {place}" for place in _await_chain(task))
    return "\n".join(lines)


def _await_chain(task: asyncio.Task[Any]) -> list[str]:
    """Return the places where the task's coroutines await each other, outermost first."""
    return [
        f"{PurePath(frame.f_code.co_filename).name}:{frame.f_lineno} in {frame.f_code.co_qualname}"
        for frame in _frames(task.get_coro())
    ]


def _frames(awaited: object) -> Iterator[FrameType]:
    while awaited is not None:
        frame = getattr(awaited, "cr_frame", None) or getattr(awaited, "gi_frame", None)
        if isinstance(frame, FrameType):
            yield frame
        awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "gi_yieldfrom", None)


def dispose(tasks: list[asyncio.Task[Any]], forget: Callable[[], None], *, generation: int) -> None:
    """Close the coroutines of `tasks`, last first; then `forget` drops the last references to them."""
    with _silence():
        while tasks:
            _dispose_task(tasks.pop())
        forget()
        gc.collect(generation)


def _dispose_task(task: asyncio.Task[Any]) -> None:
    if not task.done():
        copy_context().run(_close, task.get_coro())
    elif not task.cancelled():
        task.exception()


def _close(coro: Any) -> None:  # noqa: ANN401 - typeshed leaves open what `get_coro` returns
    """Close a coroutine again as long as a `finally` block awaits."""
    for _ in range(_CLOSE_ATTEMPTS_MAX):
        with contextlib.suppress(Exception, asyncio.CancelledError, GeneratorExit):
            coro.close()
        if getattr(coro, "cr_frame", None) is None:
            return


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    hook = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.unraisablehook = hook
