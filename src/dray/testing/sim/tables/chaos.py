"""Trouble in the middle of something.

A process halts at a chosen step, and comes back as if nothing had been. And compactors are ambushed: they
crash or halt a few steps after some job has made a step, because they are idle most of the time.
"""

from collections.abc import Sequence
from contextvars import Context

from dray.testing.nodes import Node
from dray.testing.sim.chaos import Chaos, Process
from dray.testing.sim.clients import Surroundings
from dray.testing.virtual_loop import virtual_loop

_STEPS_MAX = 150
_AMBUSH_STEPS_MAX = 6
_AMBUSH_ODDS = 0.5
_DEADLY_ODDS = 0.3


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
        self._ambushes = 0
        self._victims: Sequence[Process] = ()

    def lie_in_wait(self, victims: Sequence[Process], times: int) -> None:
        """Ambush these processes, so many times."""
        self._victims, self._ambushes = victims, times

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

    def on_step(self, node: Node | None) -> None:
        if node is not None and node in self._to_stall:
            self._to_stall[node] -= 1
            if self._to_stall[node] <= 0:
                del self._to_stall[node]
                self._halt(node)
        super().on_step(node)

    def calm(self) -> None:
        self._to_stall.clear()
        self._ambushes = 0
        super().calm()

    async def _stall(self, process: Process) -> None:
        self._to_stall[process.node] = self._random.randint(1, _STEPS_MAX)

    def _halt(self, node: Node) -> None:
        seconds = self._random.choice(self._stall_seconds)
        self._history.note(f"stall {node.name} in step {node.steps} for {seconds} s")
        node.pause()
        virtual_loop().call_later(seconds, node.resume, context=Context())
