"""Permission to commit and fetch offsets."""

from dray.groups.consumer import (
    ClassicMemberMetadata,
    ConsumerGroup,
    ConsumerMember,
    after_commit,
    commit_error,
    fetch_error,
)
from dray.groups.types import GroupError
from tests.groups.builders import a_committer
from tests.groups.consumer.builders import parts, topic_id

T = topic_id("t")
NONE = parts()
GROUP = ConsumerGroup(
    epoch=9,
    target_epoch=9,
    members={
        "a": ConsumerMember("c", "/h", 1, epoch=7, assigned={T: {0: 3, 1: 7}}, revoking={T: {2: 5}}),
        "old": ConsumerMember(
            "c", "/h", 1, epoch=7, assigned={T: {4: 6}}, classic=ClassicMemberMetadata(10_000, ())
        ),
    },
)


def test_current_epoch_may_commit_any_partition() -> None:
    assert commit_error(GROUP, a_committer("a", 7), parts(t=[0, 9])) is GroupError.NONE


def test_future_epoch_may_not_commit() -> None:
    assert commit_error(GROUP, a_committer("a", 8), NONE) is GroupError.STALE_MEMBER_EPOCH
    assert commit_error(GROUP, a_committer("old", 8), NONE) is GroupError.ILLEGAL_GENERATION


def test_earlier_epoch_may_commit_partitions_it_already_had() -> None:
    assert commit_error(GROUP, a_committer("a", 3), parts(t=[0])) is GroupError.NONE
    assert commit_error(GROUP, a_committer("a", 5), parts(t=[0, 2])) is GroupError.NONE
    assert commit_error(GROUP, a_committer("old", 6), parts(t=[4])) is GroupError.NONE


def test_earlier_epoch_may_not_commit_partitions_it_got_later_or_never() -> None:
    stale = GroupError.STALE_MEMBER_EPOCH
    assert commit_error(GROUP, a_committer("a", 2), parts(t=[0])) is stale
    assert commit_error(GROUP, a_committer("a", 6), parts(t=[0, 1])) is stale
    assert commit_error(GROUP, a_committer("a", 6), parts(t=[3])) is stale
    assert commit_error(GROUP, a_committer("a", 6), parts(u=[0])) is stale
    assert commit_error(GROUP, a_committer("old", 5), parts(t=[4])) is GroupError.ILLEGAL_GENERATION


def test_non_member_may_commit_only_to_an_empty_group() -> None:
    assert commit_error(GROUP, a_committer(), NONE) is GroupError.UNKNOWN_MEMBER_ID
    assert commit_error(GROUP, a_committer("x", 7), NONE) is GroupError.UNKNOWN_MEMBER_ID
    assert commit_error(ConsumerGroup(), a_committer(), NONE) is GroupError.NONE
    assert commit_error(ConsumerGroup(), a_committer("x", 1), NONE) is GroupError.UNKNOWN_MEMBER_ID


def test_old_request_versions_are_accepted_only_from_classic_members() -> None:
    assert (
        commit_error(GROUP, a_committer("a", 7, supports_member_epochs=False), NONE)
        is GroupError.UNSUPPORTED_VERSION
    )
    assert commit_error(GROUP, a_committer("old", 7, supports_member_epochs=False), NONE) is GroupError.NONE


def test_commit_attaches_the_member_to_the_broker() -> None:
    assert after_commit(GROUP, a_committer("a", 7)) is GROUP
    assert after_commit(GROUP, a_committer("x", 7, broker=2)) is GROUP
    assert after_commit(GROUP, a_committer("a", 7, broker=2)).members["a"].broker == 2


def test_fetch_requires_the_current_epoch() -> None:
    assert fetch_error(GROUP, a_committer("a", 7)) is GroupError.NONE
    assert fetch_error(GROUP, a_committer("x", -1)) is GroupError.UNKNOWN_MEMBER_ID
    assert fetch_error(GROUP, a_committer("", 7)) is GroupError.UNKNOWN_MEMBER_ID
    assert fetch_error(GROUP, a_committer("a", 6)) is GroupError.STALE_MEMBER_EPOCH
    assert fetch_error(GROUP, a_committer("old", 6)) is GroupError.ILLEGAL_GENERATION
