"""Job monitor: progress is reported, and a job that no executor works on is aborted."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from dray.observe import get_logger
from dray.spark import job_monitor
from dray.spark.job_monitor import ABORT_AFTER_S, WARN_AFTER_S, JobMonitor, Progress
from dray.testing.clock import VirtualClock
from dray.testing.virtual_loop import run, virtual_loop


class Host:
    """Returns the given steps in order, then the last one forever."""

    def __init__(self, *steps: Progress) -> None:
        self._steps: Iterator[Progress] = iter(steps)
        self._last = Progress()
        self.master = "spark://there:7077"
        self.session = None
        self.killed = False

    async def query(self, call: Callable[..., object], *args: object) -> object:
        if call == self.kill:
            self.kill()
            return None
        self._last = next(self._steps, self._last)
        return self._last

    def kill(self) -> None:
        self.killed = True


def watched(
    host: Host, for_s: float, monkeypatch: pytest.MonkeyPatch
) -> tuple[JobMonitor, list[Any], list[str]]:
    warnings: list[str] = []
    reported: list[tuple[int, int]] = []
    logger = get_logger("spark")
    monkeypatch.setattr(job_monitor, "_log", logger)
    monkeypatch.setattr(
        logger, "warning", lambda event, **fields: warnings.append(f"{event}: {fields['reason']}")
    )

    async def main() -> JobMonitor:
        monitor = JobMonitor(cast("Any", host), "g", VirtualClock(virtual_loop()))
        try:
            async with asyncio.timeout(for_s):
                await monitor.run(3, lambda done, of: reported.append((done, of)))
        except TimeoutError:
            pass
        return monitor

    return run(main(), seed=1), reported, warnings


def test_each_step_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [Progress(0, 2), Progress(1, 2), Progress(1, 2), Progress(3, 0)]
    monitor, reported, warnings = watched(Host(*steps), WARN_AFTER_S - 5, monkeypatch)
    assert (reported, warnings, monitor.abort_reason) == ([(1, 3), (3, 3)], [], "")


def test_long_running_task_is_not_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(Progress(0, 1))
    monitor, _, warnings = watched(host, 10 * ABORT_AFTER_S, monkeypatch)
    assert (warnings, monitor.abort_reason, host.killed) == ([], "", False)


def test_collection_of_results_is_not_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(Progress(0, 3), Progress(3, 0))
    monitor, _, warnings = watched(host, 10 * ABORT_AFTER_S, monkeypatch)
    assert (warnings, monitor.abort_reason, host.killed) == ([], "", False)


def test_job_without_executors_is_reported_then_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(Progress(1, 2), Progress(1, 0))
    _, _, warnings = watched(host, ABORT_AFTER_S - 5, monkeypatch)
    (line,) = warnings
    assert line.startswith(
        "spark_stalled: no executor takes tasks: check that spark.master=spark://there:7077 is"
    )
    assert not host.killed
    abandoned = Host(Progress(0, 0))
    monitor, _, _ = watched(abandoned, ABORT_AFTER_S + 5, monkeypatch)
    assert monitor.abort_reason.startswith("for 300 s no executor takes tasks")
    assert abandoned.killed
