"""Simulated processes on one virtual loop, which can crash, stall and restart.

A `Node` stands for a process. Code started through it runs in a `contextvars` context with its current
`Incarnation`, which tasks, callbacks and timers created there inherit. Before the virtual loop runs anything,
it checks the state of the incarnation:

    alive     it runs
    paused    it is held back until `resume` (a stopped process that does not notice: a zombie)
    crashed   it is dropped; no `finally` runs, as after kill -9

Code without an incarnation belongs to the world: the test itself, and the servers that nodes use. The work of
a server must not die with its client, nor hold a lock for a dead one: run it through `outside`.

Wart: a plain function of a dead node still runs if the world calls it directly. Wake nodes through futures.
"""

import asyncio
from collections.abc import Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any, Final, Literal, TypeVar

T = TypeVar("T")
State = Literal["alive", "paused", "crashed"]


class NodeCrashed(Exception):
    """The node crashed before the work it was running had finished."""


class Incarnation:
    """One incarnation of a node."""

    __slots__ = ("ended", "held", "node", "number", "state", "steps")

    def __init__(self, node: "Node", number: int, ended: asyncio.Future[None]) -> None:
        self.node = node
        self.number = number
        self.ended = ended
        self.state: State = "alive"
        self.steps = 0
        self.held: list[asyncio.Handle] = []

    def __repr__(self) -> str:
        return f"<{self.node.name} incarnation {self.number}, {self.state}>"


CURRENT_INCARNATION: Final[ContextVar[Incarnation | None]] = ContextVar("dray_incarnation", default=None)


class Node:
    """A process that can crash at every step and start again."""

    def __init__(self, name: str, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.name = name
        self._loop = loop if loop is not None else asyncio.get_running_loop()
        self.incarnation = Incarnation(self, 1, self._loop.create_future())

    def __repr__(self) -> str:
        return repr(self.incarnation)

    @property
    def alive(self) -> bool:
        return self.incarnation.state != "crashed"

    @property
    def steps(self) -> int:
        """Number of loop steps of the current incarnation, including one that is about to run."""
        return self.incarnation.steps

    def start(self, coro: Coroutine[Any, Any, T], *, name: str | None = None) -> asyncio.Task[T]:
        """Start a task inside the node; the caller may await it, but see `run`."""
        if not self.alive:
            coro.close()
            raise NodeCrashed(f"{self.name} has crashed; `restart` it first")
        return self._loop.create_task(coro, name=name, context=self._context())

    async def run(self, coro: Coroutine[Any, Any, T]) -> T:
        """Run `coro` inside the node and return its result; raises `NodeCrashed` if it crashes first."""
        incarnation, task = self.incarnation, self.start(coro)
        try:
            await asyncio.wait((task, incarnation.ended), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not task.done():
            raise NodeCrashed(f"{incarnation} before it returned a result")
        return task.result()

    def crash(self) -> None:
        """Kill the node: nothing of this incarnation runs again, except the rest of the current step."""
        if self.alive:
            self.incarnation.state = "crashed"
            self.incarnation.ended.set_result(None)

    def restart(self) -> None:
        """Begin a new incarnation, without any state; the caller starts its work."""
        if self.alive:
            raise RuntimeError(f"{self!r} must crash before it can restart")
        self.incarnation = Incarnation(self, self.incarnation.number + 1, self._loop.create_future())

    def pause(self) -> None:
        """Hold back everything the node would run; the rest of the world and its time continue."""
        if self.incarnation.state == "alive":
            self.incarnation.state = "paused"

    def resume(self) -> None:
        if self.incarnation.state != "paused":
            return
        self.incarnation.state = "alive"
        held, self.incarnation.held = self.incarnation.held, []
        for handle in held:
            self._loop.call_soon(_run_held, handle, context=self._context())

    def _context(self) -> Context:
        context = copy_context()
        context.run(CURRENT_INCARNATION.set, self.incarnation)
        return context


def current_node() -> Node | None:
    """Return the node whose code is running; None for the world's."""
    incarnation = CURRENT_INCARNATION.get()
    return None if incarnation is None else incarnation.node


def incarnation_of(handle: asyncio.Handle) -> Incarnation | None:
    """Return the incarnation that `handle` belongs to; None for the world's."""
    context: Context = handle._context  # type: ignore[attr-defined]  # noqa: SLF001 - public from 3.12 on
    return context.get(CURRENT_INCARNATION)


async def outside(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` as a server does for a node that calls it: it continues if the node crashes or cancels."""
    context = copy_context()
    context.run(CURRENT_INCARNATION.set, None)
    task = asyncio.get_running_loop().create_task(work, context=context)
    task.add_done_callback(_retrieve_exception, context=context)
    return await asyncio.shield(task)


def _retrieve_exception(task: asyncio.Task[Any]) -> None:
    """Keep asyncio from reporting an error as unhandled if the calling node has crashed."""
    if not task.cancelled():
        task.exception()


def _run_held(handle: asyncio.Handle) -> None:
    if not handle.cancelled():
        handle._run()  # noqa: SLF001 - a loop runs handles; asyncio names no other way
