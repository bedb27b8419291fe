"""A `dray` with a fault of its own, to be found: `python -m tests.chaos.broken FAULT ORDER up …`."""

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence

import pytest

from dray.log import LogError, plan
from dray.log.commit import Committer
from dray.log.stages import Stored
from dray.producers import Accept, ProducerBatch, ProducerState
from tests.chaos.doomed import run
from tests.sim.mutants import acknowledge_before_commit


def acknowledge_early(patch: pytest.MonkeyPatch) -> None:
    """Acknowledge, and commit when the answer has left."""

    async def late(self: Committer, stored: Sequence[Stored]) -> LogError | None:
        await asyncio.sleep(0.02)
        return await commit(self, stored)

    commit = Committer.commit
    patch.setattr(Committer, "commit", late)
    acknowledge_before_commit(patch)


def forget_producers(patch: pytest.MonkeyPatch) -> None:
    """Take every batch for a new one."""

    def judge(_: ProducerState | None, __: ProducerBatch, *, begins_with: int | None = None) -> Accept:
        return Accept()

    patch.setattr(plan, "judge", judge)


FAULTS: Mapping[str, Callable[[pytest.MonkeyPatch], None]] = {
    "hasty": acknowledge_early,
    "forgetful": forget_producers,
}

if __name__ == "__main__":
    FAULTS[sys.argv.pop(1)](pytest.MonkeyPatch())
    run()
