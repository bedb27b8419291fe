"""Threads for calls that block, a bounded number under one name.

A call that was made cannot be taken back. A caller who is cancelled leaves it running, and `stop` waits for
it; so a call must own everything it touches.

An executor of the standard library would do, and costs twice as much a call: it tells of every call through
two futures and a lock. Here the books are kept in the event loop alone, and a thread only takes calls from a
queue and hands their outcomes back.
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
    """A call came after `Threads.stop`; it was not made."""


class _Call(NamedTuple):
    context: Context
    work: Callable[[], Any]
    loop: AbstractEventLoop
    outcome: "Future[Any]"


class Threads:
    """Runs blocking calls in at most `size` threads, in the order they came. For one event loop at a time."""

    def __init__(self, name: str, size: int) -> None:
        self._name = name
        self._size = size
        self._waiting: SimpleQueue[_Call | None] = SimpleQueue()
        self._threads: list[Thread] = []
        self._under_way = 0
        self._all_ended: Future[None] | None = None
        self._stopped = False

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call it in a thread, with the caller's context variables, and return what it returns."""
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
        """Refuse new calls, wait for those made, end the threads.

        Calls that take longer than `patience_s`, such as reads from a mount that is dead, are left to their
        threads, which end with the process.
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
            del call  # while it waits for the next, a thread holds nothing of the last

    def _make(self, call: _Call) -> None:
        result: Any = None
        failure: BaseException | None = None
        try:
            result = call.context.run(call.work)
        except StopIteration as error:  # no future takes one
            failure = RuntimeError(f"{call.work} raised {error!r}")
        except BaseException as error:  # noqa: BLE001 - it is the caller's, whatever it is
            failure = error
        with suppress(RuntimeError):  # the event loop may be gone, and with it whoever waited
            call.loop.call_soon_threadsafe(self._ended, call.outcome, result, failure)
        del failure  # its traceback holds this frame

    def _ended(self, outcome: "Future[Any]", result: object, failure: BaseException | None) -> None:
        self._under_way -= 1
        if not self._under_way and self._all_ended is not None:
            self._all_ended.set_result(None)
        if outcome.done():  # its caller was cancelled: it is nobody's
            return
        if failure is None:
            outcome.set_result(result)
        else:
            outcome.set_exception(failure)
