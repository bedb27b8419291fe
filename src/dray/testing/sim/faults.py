"""Faults of simulated processes: crashes at a chosen step, and stalls that end without a trace."""

from collections.abc import Sequence
from typing import Protocol

from dray.testing.nodes import Node
from dray.testing.sim.clients import ClientContext


class Process(Protocol):
    """A process that can crash and stall."""

    @property
    def node(self) -> Node: ...

    def boot(self) -> None: ...

    def crash(self) -> None: ...


class ProcessFaults:
    """Crashes and stalls processes at random until `heal`."""

    def __init__(
        self,
        context: ClientContext,
        processes: Sequence[Process],
        stall_seconds: Sequence[float],
        *,
        stall_odds: float = 0.3,
    ) -> None:
        self._processes = processes
        self._stall_odds = stall_odds
        self._stall_seconds = stall_seconds
        self._random = context.random
        self._clock = context.clock
        self._history = context.history
        self._crash_in: dict[Node, int] = {}
        """Steps until a node crashes."""
        self.crashes = 0

    def on_step(self, node: Node | None) -> None:
        if node is None or node not in self._crash_in:
            return
        self._crash_in[node] -= 1
        if self._crash_in[node] <= 0:
            del self._crash_in[node]
            self._crash(node)

    async def inject(self, times: int) -> None:
        for _ in range(times):
            await self._clock.sleep(self._random.uniform(0.05, 1.0))
            process = self._random.choice(self._processes)
            if not process.node.alive:
                self._reboot(process)
            elif self._random.random() < self._stall_odds:
                await self._stall(process)
            else:
                self._crash_in[process.node] = self._random.randint(1, 120)

    def heal(self) -> None:
        """Stop injecting faults, resume stalled processes and restart crashed ones."""
        self._crash_in.clear()
        for process in self._processes:
            process.node.resume()
            if not process.node.alive:
                self._reboot(process)

    async def _stall(self, process: Process) -> None:
        """Stall a process, sometimes for longer than the orphan TTL, so that the sweep considers it dead."""
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
