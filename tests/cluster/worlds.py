"""In-memory stores on virtual time for tests of cluster-wide state."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from dray.meta.memory import MemoryMetaServer, MemoryMetaSettings, MemoryMetaStore
from dray.runtime import RetrySettings, Tasks
from dray.testing.clock import VirtualClock
from dray.testing.entropy import SeededEntropy
from dray.testing.virtual_loop import run, virtual_loop
from tests.links import ControlledLink

T = TypeVar("T")
_SEEDS = range(3)


class Client:
    """One process's client of the store."""

    def __init__(self, world: "World", name: str) -> None:
        self.link = ControlledLink()
        self.link.slow_by = lambda: 0.0  # other tasks run before and after each request
        self.tasks = Tasks()
        self.entropy = SeededEntropy(name)
        retry = MemoryMetaSettings(RetrySettings(first_ms=5, max_ms=20, budget_ms=100))
        self.meta = MemoryMetaStore(
            world.server, world.clock, self.entropy, tasks=self.tasks, settings=retry, link=self.link
        )


class World:
    """The store, and a clock."""

    def __init__(self) -> None:
        self.clock = VirtualClock(virtual_loop())
        self.server = MemoryMetaServer(self.clock)

    def client(self, name: str = "a") -> Client:
        return Client(self, name)

    async def settle(self, seconds: float = 0.5) -> None:
        """Let all pending work finish."""
        await self.clock.sleep(seconds)


def simulated(body: Callable[[World], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Return a test that runs `body` on the virtual loop, with several orders of its steps."""

    def test() -> None:
        for seed in _SEEDS:
            simulate(body, seed)

    test.__doc__ = body.__doc__
    return test


def simulate(body: Callable[[World], Coroutine[Any, Any, None]], seed: int = 0) -> None:
    async def main() -> None:
        await body(World())

    run(main(), seed=seed)
