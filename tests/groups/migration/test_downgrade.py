"""Downgrades: consumer groups in which only classic members are left."""

from typing import Any

import pytest

from dray.groups.classic import ClassicGroup, Phase
from dray.groups.commands import LeavingMember
from dray.groups.consumer import ConsumerGroup
from dray.groups.embedded import decode_assignment
from dray.groups.limits import GroupLimits
from dray.groups.results import JoinResult, PendingReply
from dray.groups.timers import TimerKind
from dray.groups.types import GroupError
from tests.groups.builders import a_sync
from tests.groups.consumer import builders as consumer
from tests.groups.consumer.builders import image
from tests.groups.migration.builders import GroupHarness, a_heartbeat, a_join, assigned, subscription_bytes


def _mixed_group(**limits: Any) -> GroupHarness:
    """`new` of the consumer protocol, with instance id `i`; `old` and `older` of the classic protocol."""
    harness = GroupHarness(image(t=3), GroupLimits(**{"consumer_assignment_interval_ms": 0} | limits))
    harness.consumer_heartbeat(consumer.a_join("new", "t", instance_id="i"))
    for _ in range(2):
        for member_id in ("old", "older"):
            harness.join(a_join(member_id))
        harness.consumer_heartbeat(
            consumer.a_heartbeat("new", harness.consumers.members["new"].epoch, owned={}, instance_id="i")
        )
    for member_id in ("old", "older"):
        harness.join(a_join(member_id))
        assert len(assigned(harness.sync(a_sync(member_id, 4)))["t"]) == 1
    return harness


def test_group_is_downgraded_and_rebalances_when_the_last_consumer_member_leaves() -> None:
    harness = _mixed_group()
    harness.consumer_heartbeat(consumer.a_heartbeat("new", -1, instance_id="i"))
    group = harness.classics
    assert (group.phase, group.generation, group.protocol_type) == (Phase.PREPARING, 4, "consumer")
    assert (group.protocol, group.leader, list(group.members)) == ("range", "old", ["old", "older"])
    member = group.members["old"]
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (10_000, 60_000)
    assert len(decode_assignment(member.assignment).partitions["t"]) == 1
    assert harness.heartbeat(a_heartbeat("old", 4)) is GroupError.REBALANCE_IN_PROGRESS
    assert isinstance(harness.join(a_join("old")), PendingReply)
    assert harness.join(a_join("older")) == JoinResult(
        GroupError.NONE, "older", 5, "consumer", "range", "old"
    )


def test_expired_session_of_the_last_consumer_member_downgrades_the_group() -> None:
    harness = _mixed_group()
    session = harness.timer(TimerKind.SESSION, "new")
    assert session is not None
    harness.fire(session)
    assert harness.classics.phase is Phase.PREPARING


def test_removal_of_the_last_consumer_member_by_an_admin_downgrades_the_group() -> None:
    harness = _mixed_group()
    assert harness.leave(LeavingMember("", "i")) == (GroupError.NONE,)
    assert isinstance(harness.group, ClassicGroup)


def test_leaving_classic_members_do_not_downgrade_the_group() -> None:
    harness = _mixed_group()
    harness.leave(LeavingMember("old"), LeavingMember("older"))
    assert isinstance(harness.group, ConsumerGroup)


def test_group_without_members_stays_a_consumer_group() -> None:
    harness = _mixed_group()
    harness.leave(LeavingMember("old"), LeavingMember("older"), LeavingMember("new", "i"))
    assert isinstance(harness.group, ConsumerGroup)
    assert not harness.group.members


@pytest.mark.parametrize(
    "limits", [{"consumer_migration_policy": "upgrade"}, {"group_max_size": 1}], ids=["policy", "size"]
)
def test_policy_or_size_limit_prevents_a_downgrade(limits: dict[str, Any]) -> None:
    harness = _mixed_group(**limits)
    harness.consumer_heartbeat(consumer.a_heartbeat("new", -1, instance_id="i"))
    assert list(harness.consumers.members) == ["old", "older"]
    assert harness.heartbeat(a_heartbeat("old", 4)) is GroupError.NONE
    assert harness.join(a_join("old")) == JoinResult(GroupError.NONE, "old", 5, "consumer", "range")


def test_classic_replacement_of_the_last_consumer_member_downgrades_without_a_rebalance() -> None:
    """All members own their targets, and keep them."""
    harness = _mixed_group()
    reply = harness.join(a_join(new_member_id="back", instance_id="i"))
    assert reply == JoinResult(GroupError.NONE, "back", 4, "consumer", "range")
    assert (harness.classics.phase, harness.classics.generation) == (Phase.STABLE, 4)
    assert len(assigned(harness.sync(a_sync("back", 4, instance_id="i")))["t"]) == 1
    assert harness.heartbeat(a_heartbeat("old", 4)) is GroupError.NONE
    assert {timer.kind for timer in harness.timers()} == {TimerKind.SESSION}


def test_classic_replacement_with_another_subscription_triggers_a_rebalance() -> None:
    harness = _mixed_group()
    harness.topics = harness.topics.with_topic("u", 1)
    reply = harness.join(a_join(new_member_id="back", instance_id="i", metadata=subscription_bytes("t", "u")))
    assert reply == JoinResult(GroupError.NONE, "back", 0, "consumer", "range")
    assert (harness.classics.phase, harness.classics.generation) == (Phase.PREPARING, 5)


def test_classic_replacement_during_a_revocation_triggers_a_rebalance() -> None:
    harness = _mixed_group()
    harness.topics = harness.topics.with_topic("t", 6)
    harness.consumer_heartbeat(consumer.a_heartbeat("new", 4, instance_id="i"))
    assert harness.consumers.target_epoch == harness.consumers.epoch == 5
    harness.join(a_join(new_member_id="back", instance_id="i"))
    assert harness.classics.phase is Phase.PREPARING


def test_classic_replacement_does_not_downgrade_while_consumer_members_are_left() -> None:
    harness = _mixed_group()
    harness.consumer_heartbeat(consumer.a_join("newer", "t"))
    harness.join(a_join(new_member_id="back", instance_id="i"))
    assert set(harness.consumers.members) == {"old", "older", "newer", "back"}
    assert harness.consumers.members["back"].classic is not None


def test_regex_is_dropped_when_its_member_is_replaced() -> None:
    harness = GroupHarness(image(t=1))
    harness.consumer_heartbeat(consumer.a_join("new", "t"))
    harness.consumer_heartbeat(consumer.a_join("static", regex="t.*", instance_id="i"))
    harness.join(a_join(new_member_id="back", instance_id="i"))
    assert harness.consumers.members["back"].regex == ""
    assert harness.consumers.regexes == {}


def test_downgrade_keeps_partitions_that_are_still_being_revoked() -> None:
    """Otherwise an upgrade before the members have rejoined would lose them."""
    harness = GroupHarness(image(t=2))
    harness.consumer_heartbeat(consumer.a_join("new"))
    harness.join(a_join("old"))
    harness.consumer_heartbeat(consumer.a_heartbeat("new", 1, names=("t",)))
    harness.join(a_join("old", subscription_bytes("t", owned={"t": (0, 1)})))
    assert harness.consumers.members["old"].revoking
    harness.consumer_heartbeat(consumer.a_heartbeat("new", -1))
    kept = decode_assignment(harness.classics.members["old"].assignment)
    assert sorted(kept.partitions["t"]) == [0, 1]


def test_malformed_metadata_of_unread_protocols_does_not_prevent_a_downgrade() -> None:
    """Only the first protocol of a member is decoded when it joins."""
    harness = GroupHarness(image(t=2))
    harness.consumer_heartbeat(consumer.a_join("new", "t"))
    harness.join(a_join("old", protocols=(("mine", subscription_bytes("t")), ("range", b"\xff"))))
    harness.join(a_join("older", protocols=(("range", subscription_bytes("t")), ("mine", b"\xff"))))
    harness.consumer_heartbeat(consumer.a_heartbeat("new", -1))
    assert isinstance(harness.group, ClassicGroup)
