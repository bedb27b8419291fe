"""What goes wrong.

Brokers crash at a chosen step of theirs, or stall and come back as if nothing had happened.
"""

from collections.abc import Sequence

from dray.testing.nodes import Node
from dray.testing.sim.brokers import Broker
from dray.testing.sim.clients import Surroundings


class Chaos:
    """Crashes and stalls, for as long as it is let."""

    def __init__(self, around: Surroundings, stall_seconds: Sequence[float]) -> None:
        self._brokers = around.brokers
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
            broker = self._random.choice(self._brokers)
            if not broker.node.alive:
                self._reboot(broker)
            elif self._random.random() < 0.3:
                await self._stall(broker)
            else:
                self._doomed[broker.node] = self._random.randint(1, 120)

    def calm(self) -> None:
        self._doomed.clear()
        for broker in self._brokers:
            broker.node.resume()
            if not broker.node.alive:
                self._reboot(broker)

    async def _stall(self, broker: Broker) -> None:
        """Sometimes for longer than the sweep waits before it takes a silent broker for dead."""
        self._history.note(f"stall {broker.node.name}")
        broker.node.pause()
        await self._clock.sleep(self._random.choice(self._stall_seconds))
        broker.node.resume()

    def _crash(self, node: Node) -> None:
        self.crashes += 1
        self._history.note(f"crash {node.name} in step {node.steps}")
        next(broker for broker in self._brokers if broker.node is node).crash()

    def _reboot(self, broker: Broker) -> None:
        self._history.note(f"boot {broker.node.name}")
        broker.boot()
