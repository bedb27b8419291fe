"""Faults of processes in the middle of an operation.

A process stalls at a chosen step and resumes as if nothing had happened. Because compactors are idle most of
the time, faults also target them: they crash or stall a few steps after a job has changed, or stall when they
are about to commit to a table.
"""

from collections.abc import Sequence
from contextvars import Context

from dray.testing.nodes import Node, current_node
from dray.testing.sim.clients import ClientContext
from dray.testing.sim.faults import Process, ProcessFaults
from dray.testing.virtual_loop import virtual_loop

_STEPS_MAX = 150
_STEPS_AFTER_JOB_CHANGE_MAX = 6
_JOB_CHANGE_ODDS = 0.5
_CRASH_ODDS = 0.3
_COMMIT_ODDS = 0.5


class TargetedFaults(ProcessFaults):
    """Crashes and stalls at chosen steps; several processes may be stalled at once."""

    def __init__(
        self,
        context: ClientContext,
        processes: Sequence[Process],
        stall_seconds: Sequence[float],
        *,
        stall_odds: float = 0.3,
    ) -> None:
        super().__init__(context, processes, stall_seconds, stall_odds=stall_odds)
        self._stall_in: dict[Node, int] = {}
        """Steps until a node stalls."""
        self._after_job_changes = self._before_commits = 0
        self._targets: Sequence[Process] = ()

    def target(self, targets: Sequence[Process], after_job_changes: int, before_commits: int) -> None:
        """Inject this many faults into the targets after changes of jobs, and before commits to tables."""
        self._targets = targets
        self._after_job_changes, self._before_commits = after_job_changes, before_commits

    def on_job_change(self) -> None:
        """A job changed: perhaps crash one of the targets soon, or stall each of them for a while."""
        alive = [process.node for process in self._targets if process.node.incarnation.state == "alive"]
        if not (self._after_job_changes and alive and self._random.random() < _JOB_CHANGE_ODDS):
            return
        self._after_job_changes -= 1
        steps_max = _STEPS_AFTER_JOB_CHANGE_MAX
        if self._random.random() < _CRASH_ODDS:
            self._crash_in[self._random.choice(alive)] = self._random.randint(1, steps_max)
        else:
            self._stall_in.update({node: self._random.randint(1, steps_max) for node in alive})

    def before_table_commit(self) -> None:
        """The current process is about to commit to a table: perhaps stall it first, if it is a target."""
        node = current_node()
        if node is None or node not in [process.node for process in self._targets]:
            return
        if self._before_commits and self._random.random() < _COMMIT_ODDS:
            self._before_commits -= 1
            self._stall_now(node)

    def on_step(self, node: Node | None) -> None:
        if node is not None and node in self._stall_in:
            self._stall_in[node] -= 1
            if self._stall_in[node] <= 0:
                del self._stall_in[node]
                self._stall_now(node)
        super().on_step(node)

    def heal(self) -> None:
        self._stall_in.clear()
        self._after_job_changes = self._before_commits = 0
        super().heal()

    async def _stall(self, process: Process) -> None:
        self._stall_in[process.node] = self._random.randint(1, _STEPS_MAX)

    def _stall_now(self, node: Node) -> None:
        seconds = self._random.choice(self._stall_seconds)
        self._history.note(f"stall {node.name} in step {node.steps} for {seconds} s")
        node.pause()
        virtual_loop().call_later(seconds, node.resume, context=Context())
