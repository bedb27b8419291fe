"""Interface to the engine that runs tasks: a batch of tasks in, one output or failure per task out.

In production the engine is Spark (`dray.spark.engine`). A task that fails yields a `TaskFailure` and does not
affect the others. `EngineFailed` means that no task ran at all, which concerns every topic.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from dray.compaction.tasks import Task, TaskOutput

A = TypeVar("A", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class TaskFailure:
    """Why a task failed; `damaged` is the path of the object that could not be read, if any."""

    reason: str
    damaged: str = ""


class EngineFailed(Exception):
    """The engine did not start or stopped responding: no topic's files can be written for now."""


RunTasks = Callable[[Sequence[Task]], Awaitable[Sequence[TaskOutput | TaskFailure]]]
"""Runs tasks of any kind; returns the outputs in the order of the tasks. Raises `EngineFailed`."""


async def outputs_of(run_tasks: RunTasks, tasks: Sequence[Task], kind: type[A]) -> list[A | TaskFailure]:
    """Run tasks whose outputs are all of one type."""
    return [_checked(output, kind) for output in await run_tasks(tasks)]


def _checked(output: TaskOutput | TaskFailure, kind: type[A]) -> A | TaskFailure:
    if not isinstance(output, kind | TaskFailure):
        raise TypeError(f"expected a task to return {kind.__name__}, got {output!r}")
    return output
