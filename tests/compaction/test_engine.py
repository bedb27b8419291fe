"""Outputs of an engine, which are checked for the type that the tasks return."""

from collections.abc import Sequence

import pytest

from dray.compaction.engine import TaskFailure, outputs_of
from dray.compaction.key_compaction.tasks import Filtered, KeyMap
from dray.compaction.tasks import Task, TaskOutput

MAPPED = KeyMap("x.keys", 1, 1)
FAILED = TaskFailure("no")


async def run_tasks(_: Sequence[Task]) -> list[TaskOutput | TaskFailure]:
    return [MAPPED, FAILED]


async def test_outputs_of_the_expected_type_and_failures_are_returned() -> None:
    assert await outputs_of(run_tasks, [], KeyMap) == [MAPPED, FAILED]


async def test_output_of_another_type_raises_type_error() -> None:
    with pytest.raises(TypeError, match="expected a task to return Filtered"):
        await outputs_of(run_tasks, [], Filtered)
