"""Memory stores on virtual time for tests of what a cluster agrees on."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from dray.meta.memory import AnswerLost, MemoryMetaServer, MemoryMetaSettings, MemoryMetaStore
from dray.meta.port import Unavailable
from dray.runtime import RetrySettings, SeededEntropy, Tasks
from dray.testing.clock import VirtualClock
from dray.testing.virtual_loop import run, virtual_loop

T = TypeVar("T")
_SEEDS = range(3)


class ObedientLink:
    """Carries requests, unless the test says otherwise by the name of the server's method."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.refused: set[str] = set()
        self.answers_lost: set[str] = set()
        self.cut = False

    async def call(self, request: Callable[[], T]) -> T:
        name = getattr(request, "func", request).__name__
        self.calls[name] += 1
        await asyncio.sleep(0)
        if self.cut or name in self.refused:
            raise Unavailable("refused by the test")
        answer = request()
        if name in self.answers_lost:
            raise AnswerLost
        return answer


class Client:
    """One process's way to the store."""

    def __init__(self, world: "World", name: str) -> None:
        self.link = ObedientLink()
        self.tasks = Tasks()
        self.entropy = SeededEntropy(name)
        retry = MemoryMetaSettings(RetrySettings(first_ms=5, max_ms=20, budget_ms=100))
        self.meta = MemoryMetaStore(
            world.server, self.link, world.clock, self.entropy, tasks=self.tasks, settings=retry
        )


class World:
    """The store, and a clock."""

    def __init__(self) -> None:
        self.clock = VirtualClock(virtual_loop())
        self.server = MemoryMetaServer(self.clock)

    def client(self, name: str = "a") -> Client:
        return Client(self, name)

    async def settle(self, seconds: float = 0.5) -> None:
        """Let everything that can happen happen."""
        await self.clock.sleep(seconds)


def simulated(body: Callable[[World], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Make a test of `body`: run on the virtual loop, in several orders of its steps."""

    def test() -> None:
        for seed in _SEEDS:
            simulate(body, seed)

    test.__doc__ = body.__doc__
    return test


def simulate(body: Callable[[World], Coroutine[Any, Any, None]], seed: int = 0) -> None:
    async def main() -> None:
        await body(World())

    run(main(), seed=seed)
