"""What is asked of an engine is answered in kind."""

from collections.abc import Sequence

import pytest

from dray.pipeline.clean.tasks import Filtered, Mapped
from dray.pipeline.engine import TaskFailed, answers_of
from dray.pipeline.work import Answer, Task

MAPPED = Mapped("x.keys", 1, 1)
FAILED = TaskFailed("no")


async def perform(_: Sequence[Task]) -> list[Answer | TaskFailed]:
    return [MAPPED, FAILED]


async def test_answers_of_the_kind_and_failures_come_through() -> None:
    assert await answers_of(perform, [], Mapped) == [MAPPED, FAILED]


async def test_an_answer_to_another_question_is_refused() -> None:
    with pytest.raises(TypeError, match="was to be answered with Filtered"):
        await answers_of(perform, [], Filtered)
