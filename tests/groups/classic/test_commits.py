"""OffsetCommit: which members may commit, and sessions that move with a commit."""

from typing import Any

import pytest

from dray.groups.classic import ClassicGroup, after_commit, commit_error, new_group
from dray.groups.types import GroupError
from tests.groups.builders import a_committer
from tests.groups.classic.builders import completing, preparing, stable


def rebalancing() -> ClassicGroup:
    harness = stable("a", instance_id="ia")
    harness.enter("b")
    return harness.known


EMPTY = new_group(0)
STABLE = stable("a", instance_id="ia").known
COMPLETING = completing("a", instance_id="ia").known
PREPARING = rebalancing()


@pytest.mark.parametrize(
    ("group", "committer", "error"),
    [
        (None, {}, GroupError.NONE),
        (None, {"member_id": "a"}, GroupError.NONE),
        (None, {"epoch": 0}, GroupError.GROUP_ID_NOT_FOUND),
        (None, {"epoch": 0, "supports_member_epochs": False}, GroupError.ILLEGAL_GENERATION),
        (EMPTY, {}, GroupError.NONE),
        (EMPTY, {"member_id": "a"}, GroupError.NONE),
        (EMPTY, {"epoch": 0}, GroupError.UNKNOWN_MEMBER_ID),
        (EMPTY, {"epoch": 0, "member_id": "a"}, GroupError.UNKNOWN_MEMBER_ID),
        (STABLE, {}, GroupError.UNKNOWN_MEMBER_ID),
        (STABLE, {"member_id": "x", "epoch": 1}, GroupError.UNKNOWN_MEMBER_ID),
        (STABLE, {"member_id": "a"}, GroupError.ILLEGAL_GENERATION),
        (STABLE, {"member_id": "a", "epoch": 2}, GroupError.ILLEGAL_GENERATION),
        (STABLE, {"member_id": "a", "epoch": 1}, GroupError.NONE),
        (STABLE, {"member_id": "a", "epoch": 1, "instance_id": "ia"}, GroupError.NONE),
        (STABLE, {"member_id": "x", "epoch": 1, "instance_id": "ia"}, GroupError.FENCED_INSTANCE_ID),
        (STABLE, {"instance_id": "other"}, GroupError.UNKNOWN_MEMBER_ID),
        (STABLE, {"instance_id": "ia"}, GroupError.FENCED_INSTANCE_ID),
        (COMPLETING, {"member_id": "a", "epoch": 1}, GroupError.REBALANCE_IN_PROGRESS),
        (COMPLETING, {"member_id": "a", "epoch": 0}, GroupError.ILLEGAL_GENERATION),
        (COMPLETING, {}, GroupError.UNKNOWN_MEMBER_ID),
        (PREPARING, {"member_id": "a", "epoch": 1}, GroupError.NONE),
        (PREPARING, {}, GroupError.UNKNOWN_MEMBER_ID),
    ],
)
def test_commit_is_accepted_or_rejected_by_phase_and_member(
    group: ClassicGroup | None, committer: dict[str, Any], error: GroupError
) -> None:
    assert commit_error(group, a_committer(**committer)) is error


@pytest.mark.parametrize("group", [STABLE, PREPARING])
def test_commit_to_another_broker_moves_the_session_there(group: ClassicGroup) -> None:
    assert after_commit(group, a_committer("a", 1, broker=2)).members["a"].broker == 2
    assert after_commit(group, a_committer("a", 1, broker=1)) is group


@pytest.mark.parametrize(
    ("group", "committer"),
    [
        (STABLE, a_committer("a", 7, broker=2)),
        (COMPLETING, a_committer("a", 1, broker=2)),
        (EMPTY, a_committer()),
    ],
)
def test_rejected_and_admin_commits_do_not_change_the_group(group: ClassicGroup, committer: Any) -> None:
    assert after_commit(group, committer) is group


def test_commit_of_a_member_without_generation_returns_illegal_generation() -> None:
    harness = preparing("a")
    assert commit_error(harness.known, a_committer("a")) is GroupError.ILLEGAL_GENERATION
