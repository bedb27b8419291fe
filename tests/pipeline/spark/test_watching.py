"""A job is told of as it goes on, and one that nobody works on is given up."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from dray.observe import get_logger
from dray.pipeline.spark import watching
from dray.pipeline.spark.watching import GIVEN_UP_AFTER_S, TOLD_AFTER_S, JobWatch, Progress
from dray.testing.clock import VirtualClock
from dray.testing.virtual_loop import run, virtual_loop


class Host:
    """Answers in the order foretold, then always the last."""

    def __init__(self, *steps: Progress) -> None:
        self._steps: Iterator[Progress] = iter(steps)
        self._last = Progress()
        self.master = "spark://there:7077"
        self.session = None
        self.killed = False

    async def ask(self, question: Callable[..., object], *args: object) -> object:
        if question == self.kill:
            self.kill()
            return None
        self._last = next(self._steps, self._last)
        return self._last

    def kill(self) -> None:
        self.killed = True


def watched(
    host: Host, for_s: float, monkeypatch: pytest.MonkeyPatch
) -> tuple[JobWatch, list[Any], list[str]]:
    told: list[str] = []
    noted: list[tuple[int, int]] = []
    logger = get_logger("pipeline")
    monkeypatch.setattr(watching, "_log", logger)
    monkeypatch.setattr(logger, "warning", lambda event, **fields: told.append(f"{event}: {fields['why']}"))

    async def main() -> JobWatch:
        watch = JobWatch(cast("Any", host), "g", VirtualClock(virtual_loop()))
        try:
            async with asyncio.timeout(for_s):
                await watch.run(3, lambda done, of: noted.append((done, of)))
        except TimeoutError:
            pass
        return watch

    return run(main(), seed=1), noted, told


def test_every_step_forward_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [Progress(0, 2), Progress(1, 2), Progress(1, 2), Progress(3, 0)]
    watch, noted, told = watched(Host(*steps), TOLD_AFTER_S - 5, monkeypatch)
    assert (noted, told, watch.gave_up) == ([(1, 3), (3, 3)], [], "")


def test_a_task_that_takes_long_is_left_in_peace(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(Progress(0, 1))
    watch, _, told = watched(host, 10 * GIVEN_UP_AFTER_S, monkeypatch)
    assert (told, watch.gave_up, host.killed) == ([], "", False)


def test_answers_that_take_long_to_come_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(Progress(0, 3), Progress(3, 0))
    watch, _, told = watched(host, 10 * GIVEN_UP_AFTER_S, monkeypatch)
    assert (told, watch.gave_up, host.killed) == ([], "", False)


def test_a_job_that_nobody_works_on_is_told_and_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(Progress(1, 2), Progress(1, 0))
    _, _, told = watched(host, GIVEN_UP_AFTER_S - 5, monkeypatch)
    (line,) = told
    assert line.startswith(
        "spark_waits: no executor works for us: see that spark.master=spark://there:7077 is"
    )
    assert not host.killed
    abandoned = Host(Progress(0, 0))
    watch, _, _ = watched(abandoned, GIVEN_UP_AFTER_S + 5, monkeypatch)
    assert watch.gave_up.startswith("for 300 s no executor works for us")
    assert abandoned.killed
