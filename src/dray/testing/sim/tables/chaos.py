"""Trouble in the middle of something.

A process halts at a chosen step, and comes back as if nothing had been. And compactors are ambushed: they
crash or halt a few steps after some job has made a step, or halt when they are about to commit to a table,
because they are idle most of the time.
"""

from collections.abc import Sequence
from contextvars import Context

from dray.testing.nodes import Node, current_node
from dray.testing.sim.chaos import Chaos, Process
from dray.testing.sim.clients import Surroundings
from dray.testing.virtual_loop import virtual_loop

_STEPS_MAX = 150
_AMBUSH_STEPS_MAX = 6
_AMBUSH_ODDS = 0.5
_DEADLY_ODDS = 0.3
_COMMIT_ODDS = 0.5


class SteppedChaos(Chaos):
    """Crashes and stalls, both at chosen steps; several processes may be halted at once."""

    def __init__(
        self,
        around: Surroundings,
        processes: Sequence[Process],
        stall_seconds: Sequence[float],
        *,
        stall_odds: float = 0.3,
    ) -> None:
        super().__init__(around, processes, stall_seconds, stall_odds=stall_odds)
        self._to_stall: dict[Node, int] = {}
        self._ambushes = self._sleepers = 0
        self._victims: Sequence[Process] = ()

    def lie_in_wait(self, victims: Sequence[Process], ambushes: int, sleepers: int) -> None:
        """Ambush these processes so many times, and halt one of them before so many of their commits."""
        self._victims, self._ambushes, self._sleepers = victims, ambushes, sleepers

    def job_changed(self) -> None:
        """Some job has made a step: one of the victims dies soon, or each of them halts for a while."""
        victims = [process.node for process in self._victims if process.node.life.state == "alive"]
        if not (self._ambushes and victims and self._random.random() < _AMBUSH_ODDS):
            return
        self._ambushes -= 1
        if self._random.random() < _DEADLY_ODDS:
            self._doomed[self._random.choice(victims)] = self._random.randint(1, _AMBUSH_STEPS_MAX)
        else:
            self._to_stall.update({node: self._random.randint(1, _AMBUSH_STEPS_MAX) for node in victims})

    def committing(self) -> None:
        """Somebody is about to send a commit to a table: if it is a victim, it may halt before it does."""
        node = current_node()
        if node is None or node not in [process.node for process in self._victims]:
            return
        if self._sleepers and self._random.random() < _COMMIT_ODDS:
            self._sleepers -= 1
            self._halt(node)

    def on_step(self, node: Node | None) -> None:
        if node is not None and node in self._to_stall:
            self._to_stall[node] -= 1
            if self._to_stall[node] <= 0:
                del self._to_stall[node]
                self._halt(node)
        super().on_step(node)

    def calm(self) -> None:
        self._to_stall.clear()
        self._ambushes = self._sleepers = 0
        super().calm()

    async def _stall(self, process: Process) -> None:
        self._to_stall[process.node] = self._random.randint(1, _STEPS_MAX)

    def _halt(self, node: Node) -> None:
        seconds = self._random.choice(self._stall_seconds)
        self._history.note(f"stall {node.name} in step {node.steps} for {seconds} s")
        node.pause()
        virtual_loop().call_later(seconds, node.resume, context=Context())
