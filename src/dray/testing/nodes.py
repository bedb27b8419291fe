"""Simulated processes on one virtual loop, and how they die.

A `Node` stands for a process. What is started through it runs in a `contextvars` context that names its
current `Life`; tasks, callbacks and timers made inside inherit that. The virtual loop looks at the life
before it runs anything:

    alive     it runs
    paused    it is held back until `resume` (a process that was stopped and does not know: a zombie)
    crashed   it is dropped, now and for ever; no `finally` runs, exactly as after kill -9

Code that names no life belongs to the world: the test itself, and the servers that nodes talk to. A server's
work must not die with its caller, nor hold a lock for a dead one: run it through `outside`.

Wart: a plain function of a dead node that the world calls directly still runs. Wake nodes through futures.
"""

import asyncio
from collections.abc import Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any, Final, Literal, TypeVar

T = TypeVar("T")
State = Literal["alive", "paused", "crashed"]


class NodeCrashed(Exception):
    """The node died before the work that was asked of it had ended."""


class Life:
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
        return f"<{self.node.name} life {self.number}, {self.state}>"


CURRENT_LIFE: Final[ContextVar[Life | None]] = ContextVar("dray_simulated_life", default=None)


class Node:
    """A process that can crash at every step and start again."""

    def __init__(self, name: str, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.name = name
        self._loop = loop if loop is not None else asyncio.get_running_loop()
        self.life = Life(self, 1, self._loop.create_future())

    def __repr__(self) -> str:
        return repr(self.life)

    @property
    def alive(self) -> bool:
        return self.life.state != "crashed"

    @property
    def steps(self) -> int:
        """How many steps the loop has run, or is about to run, in the node's present life."""
        return self.life.steps

    def start(self, coro: Coroutine[Any, Any, T], *, name: str | None = None) -> asyncio.Task[T]:
        """Start a task inside the node; the caller may await it, but see `run`."""
        if not self.alive:
            coro.close()
            raise NodeCrashed(f"{self.name} has crashed; `restart` it first")
        return self._loop.create_task(coro, name=name, context=self._context())

    async def run(self, coro: Coroutine[Any, Any, T]) -> T:
        """Run `coro` inside the node and return its result; raises `NodeCrashed` when the node dies first."""
        life, task = self.life, self.start(coro)
        try:
            await asyncio.wait((task, life.ended), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not task.done():
            raise NodeCrashed(f"{life} before it had an answer")
        return task.result()

    def crash(self) -> None:
        """Kill the node: nothing of this life ever runs again, save the rest of the step it is in now."""
        if self.alive:
            self.life.state = "crashed"
            self.life.ended.set_result(None)

    def restart(self) -> None:
        """Begin a new life with nothing of the old one; what it should do is for the caller to start."""
        if self.alive:
            raise RuntimeError(f"{self!r} must crash before it can restart")
        self.life = Life(self, self.life.number + 1, self._loop.create_future())

    def pause(self) -> None:
        """Hold everything of the node back; the world and its time go on."""
        if self.life.state == "alive":
            self.life.state = "paused"

    def resume(self) -> None:
        if self.life.state != "paused":
            return
        self.life.state = "alive"
        held, self.life.held = self.life.held, []
        for handle in held:
            self._loop.call_soon(_run_held, handle, context=self._context())

    def _context(self) -> Context:
        context = copy_context()
        context.run(CURRENT_LIFE.set, self.life)
        return context


def current_node() -> Node | None:
    """Return the node whose code is running; None for the world's."""
    life = CURRENT_LIFE.get()
    return None if life is None else life.node


def life_of(handle: asyncio.Handle) -> Life | None:
    """Return the life that `handle` belongs to; None for the world's."""
    context: Context = handle._context  # type: ignore[attr-defined]  # noqa: SLF001 - public from 3.12 on
    return context.get(CURRENT_LIFE)


async def outside(work: Coroutine[Any, Any, T]) -> T:
    """Do `work` as a server does for the node that asks: if that crashes or cancels, the work goes on."""
    context = copy_context()
    context.run(CURRENT_LIFE.set, None)
    task = asyncio.get_running_loop().create_task(work, context=context)
    task.add_done_callback(_look_at_outcome, context=context)
    return await asyncio.shield(task)


def _look_at_outcome(task: asyncio.Task[Any]) -> None:
    """An answer that nobody is left to receive is no fault."""
    if not task.cancelled():
        task.exception()


def _run_held(handle: asyncio.Handle) -> None:
    if not handle.cancelled():
        handle._run()  # noqa: SLF001 - a loop runs handles; asyncio names no other way
