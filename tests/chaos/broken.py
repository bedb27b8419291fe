"""Brokers with an injected bug, which the rules must catch: `python -m tests.chaos.broken BUG ARMED up …`."""

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence

import pytest

from dray.log import LogError, plan
from dray.log.commit import Committer
from dray.log.stages import Stored
from dray.producers import Accept, ProducerBatch, ProducerState
from tests.chaos.failpoints import run
from tests.sim.mutants import acknowledge_before_commit


def acknowledge_early(patch: pytest.MonkeyPatch) -> None:
    """Acknowledge first, and commit after the response was sent."""

    async def late(self: Committer, stored: Sequence[Stored]) -> LogError | None:
        await asyncio.sleep(0.02)
        return await commit(self, stored)

    commit = Committer.commit
    patch.setattr(Committer, "commit", late)
    acknowledge_before_commit(patch)


def forget_producers(patch: pytest.MonkeyPatch) -> None:
    """Accept every batch as a new one."""

    def check_sequence(
        _: ProducerState | None, __: ProducerBatch, *, begins_with: int | None = None
    ) -> Accept:
        return Accept()

    patch.setattr(plan, "check_sequence", check_sequence)


BUGS: Mapping[str, Callable[[pytest.MonkeyPatch], None]] = {
    "hasty": acknowledge_early,
    "forgetful": forget_producers,
}

if __name__ == "__main__":
    BUGS[sys.argv.pop(1)](pytest.MonkeyPatch())
    run()
