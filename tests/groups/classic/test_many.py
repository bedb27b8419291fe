"""A group of a thousand: each step may look at everybody once, no more."""

from time import process_time

from dray.groups.classic import Phase
from dray.groups.faults import Fault
from dray.groups.outcome import Parked
from tests.groups.classic.builders import BOTH, Desk

NAMES = [f"consumer-{number}" for number in range(1_000)]
CPU_SECONDS = 5
"""More than ten times what it takes; looking at everybody for everybody would take a hundred times more."""


def test_a_thousand_members_go_through_two_generations() -> None:
    began = process_time()
    desk = Desk()
    for name in NAMES:
        desk.ask(new_id=name, protocols=BOTH)
    rejoin_all(desk)
    desk.wait_out()
    sync_all(desk)
    assert {desk.beat(name) for name in NAMES} == {Fault.NONE}
    rejoin_all(desk)
    sync_all(desk)
    assert (desk.phase(), desk.known.generation, len(desk.known.members)) == (Phase.STABLE, 2, 1_000)
    assert desk.asked()[0].timer.member_id == NAMES[0]
    assert process_time() - began < CPU_SECONDS


def rejoin_all(desk: Desk) -> None:
    for name in NAMES:
        desk.rejoin(name, protocols=BOTH)
        desk.waiting.clear()


def sync_all(desk: Desk) -> None:
    for name in reversed(NAMES):
        reply = desk.sync(name, assignments=[(name, b"") for name in NAMES] if name == NAMES[0] else ())
        assert isinstance(reply, Parked) == (name != NAMES[0])
        desk.waiting.clear()
