"""Who may commit offsets."""

from typing import Any

import pytest

from dray.groups.classic import ClassicGroup, commit_fault, commits, simple
from dray.groups.faults import Fault
from tests.groups.classic.builders import a_committer, completing, preparing, stable


def rebalancing() -> ClassicGroup:
    desk = stable("a", instance_id="ia")
    desk.enter("b")
    return desk.known


EMPTY = simple(0)
STABLE = stable("a", instance_id="ia").known
COMPLETING = completing("a", instance_id="ia").known
PREPARING = rebalancing()


@pytest.mark.parametrize(
    ("group", "committer", "fault"),
    [
        (None, {}, Fault.NONE),
        (None, {"member_id": "a"}, Fault.NONE),
        (None, {"epoch": 0}, Fault.GROUP_ID_NOT_FOUND),
        (None, {"epoch": 0, "knows_epochs": False}, Fault.ILLEGAL_GENERATION),
        (EMPTY, {}, Fault.NONE),
        (EMPTY, {"member_id": "a"}, Fault.NONE),
        (EMPTY, {"epoch": 0}, Fault.UNKNOWN_MEMBER_ID),
        (EMPTY, {"epoch": 0, "member_id": "a"}, Fault.UNKNOWN_MEMBER_ID),
        (STABLE, {}, Fault.UNKNOWN_MEMBER_ID),
        (STABLE, {"member_id": "x", "epoch": 1}, Fault.UNKNOWN_MEMBER_ID),
        (STABLE, {"member_id": "a"}, Fault.ILLEGAL_GENERATION),
        (STABLE, {"member_id": "a", "epoch": 2}, Fault.ILLEGAL_GENERATION),
        (STABLE, {"member_id": "a", "epoch": 1}, Fault.NONE),
        (STABLE, {"member_id": "a", "epoch": 1, "instance_id": "ia"}, Fault.NONE),
        (STABLE, {"member_id": "x", "epoch": 1, "instance_id": "ia"}, Fault.FENCED_INSTANCE_ID),
        (STABLE, {"instance_id": "other"}, Fault.UNKNOWN_MEMBER_ID),
        (STABLE, {"instance_id": "ia"}, Fault.FENCED_INSTANCE_ID),
        (COMPLETING, {"member_id": "a", "epoch": 1}, Fault.REBALANCE_IN_PROGRESS),
        (COMPLETING, {"member_id": "a", "epoch": 0}, Fault.ILLEGAL_GENERATION),
        (COMPLETING, {}, Fault.UNKNOWN_MEMBER_ID),
        (PREPARING, {"member_id": "a", "epoch": 1}, Fault.NONE),
        (PREPARING, {}, Fault.UNKNOWN_MEMBER_ID),
    ],
)
def test_who_may_commit(group: ClassicGroup | None, committer: dict[str, Any], fault: Fault) -> None:
    assert commit_fault(group, a_committer(**committer)) is fault


@pytest.mark.parametrize("group", [STABLE, PREPARING])
def test_a_commit_by_another_broker_takes_the_session_there(group: ClassicGroup) -> None:
    assert commits(group, a_committer("a", 1, broker=2)).members["a"].broker == 2
    assert commits(group, a_committer("a", 1, broker=1)) is group


@pytest.mark.parametrize(
    ("group", "committer"),
    [
        (STABLE, a_committer("a", 7, broker=2)),
        (COMPLETING, a_committer("a", 1, broker=2)),
        (EMPTY, a_committer()),
    ],
)
def test_other_commits_change_nothing(group: ClassicGroup, committer: Any) -> None:
    assert commits(group, committer) is group


def test_the_first_commit_of_a_member_that_never_got_a_generation_is_refused() -> None:
    desk = preparing("a")
    assert commit_fault(desk.known, a_committer("a")) is Fault.ILLEGAL_GENERATION
