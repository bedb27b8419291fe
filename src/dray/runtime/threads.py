"""Bounded pool of named threads for blocking calls.

A running call cannot be cancelled. If its caller is cancelled the call keeps running, and `stop` waits for
it; so a call must own everything it touches.

The executor of the standard library would do, at twice the cost per call: it reports each call through two
futures and a lock. Here only the event loop keeps state; a thread takes calls from a queue and passes their
outcomes back.
"""

import asyncio
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class ThreadsStopped(RuntimeError):
    """A call was not made, because `Threads.stop` had been called."""


class _Call(NamedTuple):
    context: Context
    work: Callable[[], Any]
    loop: AbstractEventLoop
    outcome: "Future[Any]"


class Threads:
    """Runs blocking calls in at most `size` threads, in FIFO order. For one event loop at a time."""

    def __init__(self, name: str, size: int) -> None:
        self._name = name
        self._size = size
        self._waiting: SimpleQueue[_Call | None] = SimpleQueue()
        self._threads: list[Thread] = []
        self._under_way = 0
        self._all_ended: Future[None] | None = None
        self._stopped = False

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run the call in a thread, with the caller's context variables, and return its result."""
        if self._stopped:
            raise ThreadsStopped(f"the threads of {self._name} have been stopped")
        loop = asyncio.get_running_loop()
        outcome: Future[T] = loop.create_future()
        if self._under_way >= len(self._threads) < self._size:
            self._add_thread()
        self._under_way += 1
        self._waiting.put(_Call(copy_context(), partial(call, *args, **kwargs), loop, outcome))
        return await outcome

    async def stop(self, patience_s: float | None = None) -> None:
        """Refuse new calls, wait for the running ones, and end the threads.

        Calls that take longer than `patience_s`, such as reads from a dead mount, are abandoned: their daemon
        threads end with the process.
        """
        self._stopped = True
        if self._under_way:
            if self._all_ended is None:
                self._all_ended = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._all_ended], timeout=patience_s)
        threads, self._threads = self._threads, []
        for _ in threads:
            self._waiting.put(None)
        if not self._under_way:
            for thread in threads:
                thread.join()

    def _add_thread(self) -> None:
        name = f"{self._name}_{len(self._threads)}"
        thread = Thread(target=self._serve, name=name, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _serve(self) -> None:
        while True:
            call = self._waiting.get()
            if call is None:
                return
            self._make(call)
            del call  # an idle thread holds no reference to its last call

    def _make(self, call: _Call) -> None:
        result: Any = None
        failure: BaseException | None = None
        try:
            result = call.context.run(call.work)
        except StopIteration as error:  # which a future does not accept
            failure = RuntimeError(f"{call.work} raised {error!r}")
        except BaseException as error:  # noqa: BLE001 - passed to the caller
            failure = error
        with suppress(RuntimeError):  # the event loop may be closed, and with it the caller
            call.loop.call_soon_threadsafe(self._ended, call.outcome, result, failure)
        del failure  # its traceback refers to this frame

    def _ended(self, outcome: "Future[Any]", result: object, failure: BaseException | None) -> None:
        self._under_way -= 1
        if not self._under_way and self._all_ended is not None:
            self._all_ended.set_result(None)
        if outcome.done():  # its caller was cancelled
            return
        if failure is None:
            outcome.set_result(result)
        else:
            outcome.set_exception(failure)
