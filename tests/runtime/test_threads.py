"""The thread pool, on a real loop."""

import asyncio
import gc
import threading
from contextvars import ContextVar

import pytest

from dray.runtime import Threads, ThreadsStopped

NAME: ContextVar[str] = ContextVar("name")


async def test_calls_run_in_named_threads_with_the_context_of_the_caller() -> None:
    threads = Threads("disk", 2)
    NAME.set("mine")

    def call(left: int, *, right: int) -> tuple[str, str, int]:
        return threading.current_thread().name, NAME.get(), left + right

    name, value, total = await threads.run(call, 1, right=2)
    assert name.startswith("disk_")
    assert (value, total) == ("mine", 3)
    with pytest.raises(ZeroDivisionError):
        await threads.run(divmod, 1, 0)
    await threads.stop()


async def test_number_of_threads_is_bounded() -> None:
    threads, barrier = Threads("disk", 2), threading.Barrier(2)

    def call() -> str:
        barrier.wait(timeout=30)
        return threading.current_thread().name

    names = await asyncio.gather(*(threads.run(call) for _ in range(8)))
    assert len(set(names)) == 2
    await threads.stop()


async def test_stop_waits_for_a_call_whose_caller_was_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    threads = Threads("disk", 1)
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def call() -> None:
        begun.set()
        may_end.wait(30)
        ended.set()
        raise ValueError("unseen")

    caller = asyncio.get_running_loop().create_task(threads.run(call))
    await asyncio.to_thread(begun.wait, 30)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert not ended.is_set()
    stopping = asyncio.get_running_loop().create_task(threads.stop())
    await asyncio.sleep(0)
    assert not stopping.done()
    may_end.set()
    await stopping
    assert ended.is_set()
    del caller
    gc.collect()
    assert not caplog.records
    with pytest.raises(ThreadsStopped, match="disk"):
        await threads.run(call)


async def test_failure_to_start_a_thread_is_raised_and_stop_still_returns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads = Threads("disk", 1)

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="new thread"):
        await threads.run(int)
    monkeypatch.undo()
    assert await threads.run(int) == 0
    await threads.stop()


async def test_stop_iteration_of_a_call_becomes_runtime_error() -> None:
    threads = Threads("disk", 1)
    with pytest.raises(RuntimeError, match="StopIteration"):
        await threads.run(next, iter(()))
    await threads.stop()


async def test_stop_with_patience_abandons_a_hanging_call() -> None:
    threads, may_end = Threads("disk", 1), threading.Event()
    caller = asyncio.get_running_loop().create_task(threads.run(may_end.wait, 30))
    await asyncio.sleep(0)
    await threads.stop(0.01)
    assert not caller.done()
    may_end.set()
    assert await caller
