"""Crashes of a simulated node: one run for each of its steps, with a crash at that step."""

from collections.abc import Callable, Coroutine
from typing import Any

from dray.testing.nodes import Node
from dray.testing.virtual_loop import run


class CrashAtStep:
    """Crashes `node`, once it is set, at its step number `at`."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.node: Node | None = None

    def on_step(self, node: Node | None) -> None:
        if node is not None and node is self.node and node.steps == self.at:
            node.crash()


def crash_at_every_step(
    attempt: Callable[[CrashAtStep], Coroutine[Any, Any, bool]],
    steps_max: int,
    *,
    every: int = 1,
    steps_min: int = 20,
) -> None:
    """Run `attempt` with a crash at step 1, 1 + `every` and so on, until it finishes without one.

    `attempt` returns whether it finished. It must have more than `steps_min` steps to crash at.
    """
    for at in range(1, steps_max, every):
        crash = CrashAtStep(at)
        if run(attempt(crash), on_step=crash.on_step):
            assert at > steps_min
            return
    raise AssertionError(f"the attempt did not finish within {steps_max} steps")
