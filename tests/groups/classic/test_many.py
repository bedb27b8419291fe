"""A group of a thousand: each step may look at everybody once, no more."""

from time import process_time

import pytest

from dray.groups.classic import Phase
from dray.groups.faults import Fault
from dray.groups.outcome import Parked
from tests.groups.classic.builders import BOTH, Desk

MANY, FEW = 1_000, 125


@pytest.mark.slow
def test_a_thousand_members_go_through_two_generations() -> None:
    """Each member's steps may look at everybody: eight times as many may cost sixty-four times as much."""
    few_s = min(went_through(FEW) for _ in range(3))
    assert went_through(MANY) < 3 * 64 * few_s


def went_through(members: int) -> float:
    """Return how much processor time it took."""
    names = [f"consumer-{number}" for number in range(members)]
    began = process_time()
    desk = Desk()
    for name in names:
        desk.ask(new_id=name, protocols=BOTH)
    rejoin_all(desk, names)
    desk.wait_out()
    sync_all(desk, names)
    assert {desk.beat(name) for name in names} == {Fault.NONE}
    rejoin_all(desk, names)
    sync_all(desk, names)
    assert (desk.phase(), desk.known.generation, len(desk.known.members)) == (Phase.STABLE, 2, members)
    assert desk.asked()[0].timer.member_id == names[0]
    return process_time() - began


def rejoin_all(desk: Desk, names: list[str]) -> None:
    for name in names:
        desk.rejoin(name, protocols=BOTH)
        desk.waiting.clear()


def sync_all(desk: Desk, names: list[str]) -> None:
    for name in reversed(names):
        reply = desk.sync(name, assignments=[(name, b"") for name in names] if name == names[0] else ())
        assert isinstance(reply, Parked) == (name != names[0])
        desk.waiting.clear()
