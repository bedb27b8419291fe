"""Who may commit and fetch offsets."""

from dray.groups.consumer import (
    ClassicSide,
    ConsumerGroup,
    ConsumerMember,
    commit_fault,
    commits,
    fetch_fault,
)
from dray.groups.faults import Fault
from tests.groups.consumer.builders import a_committer, parts, topic_id

T = topic_id("t")
NONE = parts()
GROUP = ConsumerGroup(
    epoch=9,
    target_epoch=9,
    members={
        "a": ConsumerMember("c", "/h", 1, epoch=7, assigned={T: {0: 3, 1: 7}}, revoking={T: {2: 5}}),
        "old": ConsumerMember("c", "/h", 1, epoch=7, assigned={T: {4: 6}}, classic=ClassicSide(10_000, ())),
    },
)


def test_the_right_epoch_may_commit_anything() -> None:
    assert commit_fault(GROUP, a_committer("a", 7), parts(t=[0, 9])) is Fault.NONE


def test_a_later_epoch_is_refused() -> None:
    assert commit_fault(GROUP, a_committer("a", 8), NONE) is Fault.STALE_MEMBER_EPOCH
    assert commit_fault(GROUP, a_committer("old", 8), NONE) is Fault.ILLEGAL_GENERATION


def test_an_earlier_epoch_may_commit_what_it_had_by_then() -> None:
    assert commit_fault(GROUP, a_committer("a", 3), parts(t=[0])) is Fault.NONE
    assert commit_fault(GROUP, a_committer("a", 5), parts(t=[0, 2])) is Fault.NONE
    assert commit_fault(GROUP, a_committer("old", 6), parts(t=[4])) is Fault.NONE


def test_an_earlier_epoch_may_not_commit_what_it_got_later_or_has_not() -> None:
    stale = Fault.STALE_MEMBER_EPOCH
    assert commit_fault(GROUP, a_committer("a", 2), parts(t=[0])) is stale
    assert commit_fault(GROUP, a_committer("a", 6), parts(t=[0, 1])) is stale
    assert commit_fault(GROUP, a_committer("a", 6), parts(t=[3])) is stale
    assert commit_fault(GROUP, a_committer("a", 6), parts(u=[0])) is stale
    assert commit_fault(GROUP, a_committer("old", 5), parts(t=[4])) is Fault.ILLEGAL_GENERATION


def test_whoever_is_no_member_may_commit_only_to_an_empty_group() -> None:
    assert commit_fault(GROUP, a_committer(), NONE) is Fault.UNKNOWN_MEMBER_ID
    assert commit_fault(GROUP, a_committer("x", 7), NONE) is Fault.UNKNOWN_MEMBER_ID
    assert commit_fault(ConsumerGroup(), a_committer(), NONE) is Fault.NONE
    assert commit_fault(ConsumerGroup(), a_committer("x", 1), NONE) is Fault.UNKNOWN_MEMBER_ID


def test_old_requests_are_for_classic_members() -> None:
    assert commit_fault(GROUP, a_committer("a", 7, knows_epochs=False), NONE) is Fault.UNSUPPORTED_VERSION
    assert commit_fault(GROUP, a_committer("old", 7, knows_epochs=False), NONE) is Fault.NONE


def test_a_commit_attaches_the_member() -> None:
    assert commits(GROUP, a_committer("a", 7)) is GROUP
    assert commits(GROUP, a_committer("x", 7, broker=2)) is GROUP
    assert commits(GROUP, a_committer("a", 7, broker=2)).members["a"].broker == 2


def test_fetching() -> None:
    assert fetch_fault(GROUP, a_committer("a", 7)) is Fault.NONE
    assert fetch_fault(GROUP, a_committer("x", -1)) is Fault.UNKNOWN_MEMBER_ID
    assert fetch_fault(GROUP, a_committer("", 7)) is Fault.UNKNOWN_MEMBER_ID
    assert fetch_fault(GROUP, a_committer("a", 6)) is Fault.STALE_MEMBER_EPOCH
    assert fetch_fault(GROUP, a_committer("old", 6)) is Fault.ILLEGAL_GENERATION
