"""What goes wrong.

Processes crash at a chosen step of theirs, or stall and come back as if nothing had happened.
"""

from collections.abc import Sequence
from typing import Protocol

from dray.testing.nodes import Node
from dray.testing.sim.clients import Surroundings


class Process(Protocol):
    """What can crash and stall."""

    @property
    def node(self) -> Node: ...

    def boot(self) -> None: ...

    def crash(self) -> None: ...


class Chaos:
    """Crashes and stalls, for as long as it is let."""

    def __init__(
        self,
        around: Surroundings,
        processes: Sequence[Process],
        stall_seconds: Sequence[float],
        *,
        stall_odds: float = 0.3,
    ) -> None:
        self._processes = processes
        self._stall_odds = stall_odds
        self._stall_seconds = stall_seconds
        self._random = around.random
        self._clock = around.clock
        self._history = around.history
        self._doomed: dict[Node, int] = {}
        self.crashes = 0

    def on_step(self, node: Node | None) -> None:
        if node is None or node not in self._doomed:
            return
        self._doomed[node] -= 1
        if self._doomed[node] <= 0:
            del self._doomed[node]
            self._crash(node)

    async def rage(self, times: int) -> None:
        for _ in range(times):
            await self._clock.sleep(self._random.uniform(0.05, 1.0))
            process = self._random.choice(self._processes)
            if not process.node.alive:
                self._reboot(process)
            elif self._random.random() < self._stall_odds:
                await self._stall(process)
            else:
                self._doomed[process.node] = self._random.randint(1, 120)

    def calm(self) -> None:
        self._doomed.clear()
        for process in self._processes:
            process.node.resume()
            if not process.node.alive:
                self._reboot(process)

    async def _stall(self, process: Process) -> None:
        """Sometimes for longer than the sweep waits before it takes a silent process for dead."""
        self._history.note(f"stall {process.node.name}")
        process.node.pause()
        await self._clock.sleep(self._random.choice(self._stall_seconds))
        process.node.resume()

    def _crash(self, node: Node) -> None:
        self.crashes += 1
        self._history.note(f"crash {node.name} in step {node.steps}")
        next(process for process in self._processes if process.node is node).crash()

    def _reboot(self, process: Process) -> None:
        self._history.note(f"boot {process.node.name}")
        process.boot()
