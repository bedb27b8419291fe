"""Saying what a stuck simulation waits for: every task, its node, and the chain of awaits it hangs in."""

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from types import FrameType
from typing import Any, Final

_TASKS_SHOWN: Final = 30


def describe_waiting(tasks: Iterable[tuple[asyncio.Task[Any], str]]) -> str:
    """Return a text naming the tasks (each with the name of its owner) that are not done."""
    waiting = [(task, owner) for task, owner in tasks if not task.done()]
    lines = [f"{len(waiting)} tasks are waiting:"]
    for task, owner in waiting[:_TASKS_SHOWN]:
        lines.append(f"  {task.get_name()} of {owner}")
        lines.extend(f"    {place}" for place in where(task))
    return "\n".join(lines)


def where(task: asyncio.Task[Any]) -> list[str]:
    """Return the places at which the task's coroutines await each other, outermost first."""
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
