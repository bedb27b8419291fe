"""A group with a thousand members: each step may look at every member once, no more."""

from time import process_time

import pytest

from dray.groups.classic import Phase
from dray.groups.results import PendingReply
from dray.groups.types import GroupError
from tests.groups.classic.builders import BOTH, GroupHarness

MANY, FEW = 1_000, 125


@pytest.mark.slow
def test_thousand_members_complete_two_generations() -> None:
    """Each step may look at all members: eight times as many members may cost sixty-four times as much."""
    few_s = min(cpu_seconds_of(FEW) for _ in range(3))
    assert cpu_seconds_of(MANY) < 3 * 64 * few_s


def cpu_seconds_of(members: int) -> float:
    """Return the processor time that two generations take."""
    names = [f"consumer-{number}" for number in range(members)]
    began = process_time()
    harness = GroupHarness()
    for name in names:
        harness.join(new_member_id=name, protocols=BOTH)
    rejoin_all(harness, names)
    harness.pass_initial_delay()
    sync_all(harness, names)
    assert {harness.heartbeat(name) for name in names} == {GroupError.NONE}
    rejoin_all(harness, names)
    sync_all(harness, names)
    assert (harness.phase(), harness.known.generation, len(harness.known.members)) == (
        Phase.STABLE,
        2,
        members,
    )
    assert harness.timer_specs()[0].timer.member_id == names[0]
    return process_time() - began


def rejoin_all(harness: GroupHarness, names: list[str]) -> None:
    for name in names:
        harness.rejoin(name, protocols=BOTH)
        harness.pending.clear()


def sync_all(harness: GroupHarness, names: list[str]) -> None:
    for name in reversed(names):
        reply = harness.sync(name, assignments=[(name, b"") for name in names] if name == names[0] else ())
        assert isinstance(reply, PendingReply) == (name != names[0])
        harness.pending.clear()
