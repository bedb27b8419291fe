"""Putting away what a finished simulation left behind, without a sound.

Dead coroutines are still suspended. Closing them runs their `finally` blocks, which may await, schedule, log
or raise; none of that may reach the test that is already over. So warnings, unraisable errors and the errors
of those blocks are ignored here, and only here.
"""

import asyncio
import contextlib
import gc
import sys
import warnings
from collections.abc import Callable, Iterator
from contextvars import copy_context
from typing import Any, Final

_CLOSES_TRIED: Final = 100


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
    """Close again as long as a `finally` block answers with another await."""
    for _ in range(_CLOSES_TRIED):
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
