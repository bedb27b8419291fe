"""The supervisor: no task and no failure is lost."""

import asyncio
import gc

import pytest

from dray.runtime import SupervisorStopped, Tasks
from dray.testing.clock import VirtualClock
from dray.testing.virtual_loop import run, virtual_loop

Failures = list[tuple[str, str]]


def _supervisor() -> tuple[Tasks, Failures]:
    failures: Failures = []
    return Tasks(lambda name, failure: failures.append((name, str(failure)))), failures


async def _fails(message: str, after: float = 0.0) -> None:
    await asyncio.sleep(after)
    raise ValueError(message)


def test_failure_is_reported_and_counted_and_still_reaches_the_awaiting_caller() -> None:
    async def main() -> None:
        tasks, failures = _supervisor()
        tasks.start(_fails("unseen"), name="alone")
        with pytest.raises(ValueError, match="seen"):
            await tasks.start(_fails("seen", after=1), name="awaited")
        assert await tasks.start(asyncio.sleep(1, "fine"), name="good") == "fine"
        assert failures == [("alone", "unseen"), ("awaited", "seen")]
        assert (tasks.failures, len(tasks)) == (2, 0)

    run(main())


def test_failures_are_logged_by_default(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        tasks = Tasks()
        tasks.start(_fails("reason"), name="flusher")
        await asyncio.sleep(1)

    run(main())
    (record,) = caplog.records
    assert record.name == "dray.runtime"
    assert isinstance(record.msg, dict)
    assert record.msg["event"] == "task_failed"
    assert record.msg["task"] == "flusher"
    assert str(record.msg["exc_info"]) == "reason"


async def test_task_without_other_references_is_kept() -> None:
    """On a real loop, because only there could it be garbage-collected."""
    tasks, ended = Tasks(), asyncio.Event()

    async def waits_for_itself() -> None:
        await asyncio.get_running_loop().create_future()

    tasks.start(waits_for_itself(), name="kept").add_done_callback(lambda _: ended.set())
    await asyncio.sleep(0)
    gc.collect()
    assert len(tasks) == 1
    await tasks.stop()
    await ended.wait()


def test_stop_cancels_all_and_waits_for_their_end() -> None:
    async def main() -> None:
        tasks, failures = _supervisor()
        ended: list[float] = []

        async def slow_to_end(seconds: float) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(seconds)
                ended.append(virtual_loop().time())

        async def fails_when_cancelled() -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise ValueError("on the way out") from None

        for seconds in (1.0, 3.0):
            tasks.start(slow_to_end(seconds), name="slow")
        tasks.start(fails_when_cancelled(), name="bad")
        await asyncio.sleep(1)
        await tasks.stop()
        assert ended == [2.0, 4.0]
        assert failures == [("bad", "on the way out")]
        assert len(tasks) == 0
        await tasks.stop()

    run(main())


def test_cancelled_stop_can_be_repeated() -> None:
    async def main() -> None:
        tasks, _ = _supervisor()

        async def stubborn() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(10)

        tasks.start(stubborn(), name="stubborn")
        await asyncio.sleep(1)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await tasks.stop()
        assert len(tasks) == 1

    run(main())


def test_task_may_stop_its_own_supervisor() -> None:
    async def main() -> None:
        tasks, failures = _supervisor()
        other = tasks.start(asyncio.sleep(1000), name="other")
        await tasks.start(tasks.stop(), name="last")
        assert other.cancelled()
        assert not failures

    run(main())


def test_nothing_starts_after_stop() -> None:
    async def main() -> None:
        tasks, _ = _supervisor()
        await tasks.stop()
        coro = _fails("never")
        with pytest.raises(SupervisorStopped, match="flusher was not started"):
            tasks.start(coro, name="flusher")
        with pytest.raises(RuntimeError, match="cannot reuse"):
            await coro  # closed, so that there is no warning about it

    run(main())


def test_periodic_task_survives_failed_steps_and_ends_on_stop() -> None:
    async def main() -> None:
        tasks, failures = _supervisor()
        at: list[float] = []

        async def step() -> None:
            at.append(virtual_loop().time())
            await asyncio.sleep(0.5)
            if len(at) == 2:
                raise ValueError("second")

        worker = tasks.every(2.0, step, name="sweeper", clock=VirtualClock(virtual_loop()))
        await asyncio.sleep(6)
        assert at == [0.0, 2.5, 5.0]
        assert failures == [("sweeper", "second")]
        assert tasks.failures == 1
        await tasks.stop()
        assert worker.cancelled()

    run(main())
