"""Whoever does the tasks of a compactor, as the rest of the pipeline sees it: tasks in, answers out.

In a cluster that is Spark (`spark.job`). A task that fails is an answer too, and leaves the others alone;
only an engine that does nothing at all is an error, and concerns every topic.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from dray.pipeline.work import Answer, Task

A = TypeVar("A", bound=Answer)


@dataclass(frozen=True, slots=True)
class TaskFailed:
    """A task that was not done, and why; `damaged` is the object that could not be read, if any."""

    why: str
    damaged: str = ""


class EngineFailed(Exception):
    """Whoever does the tasks did not start, or does nothing: no topic's files can be written for now."""


Perform = Callable[[Sequence[Task]], Awaitable[Sequence[Answer | TaskFailed]]]
"""Does tasks of any kind; answers stand beside the tasks. Raises `EngineFailed`."""


async def answers_of(perform: Perform, tasks: Sequence[Task], kind: type[A]) -> list[A | TaskFailed]:
    """Have tasks done that are all answered in one way."""
    return [_checked(answer, kind) for answer in await perform(tasks)]


def _checked(answer: Answer | TaskFailed, kind: type[A]) -> A | TaskFailed:
    if not isinstance(answer, kind | TaskFailed):
        raise TypeError(f"a task was to be answered with {kind.__name__}, and was with {answer!r}")
    return answer
