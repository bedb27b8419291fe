"""Classic members of a group of the consumer protocol."""

from typing import Any

import pytest

from dray.groups import migration
from dray.groups.asks import Leaver
from dray.groups.consumer import ConsumerGroup, Progress, state_name
from dray.groups.embedded import version_of
from dray.groups.faults import Fault
from dray.groups.limits import GroupLimits
from dray.groups.outcome import TimerKind
from dray.groups.replies import Joined, Synced
from tests.groups.consumer import builders as consumer
from tests.groups.consumer.builders import image, parts, topic_id
from tests.groups.migration.builders import Desk, a_beat, a_join, a_sync, said, told

T = topic_id("t")


def _desk(**limits: Any) -> Desk:
    """A group of the consumer protocol with one member, which has all four partitions."""
    desk = Desk(image(t=4), GroupLimits(**{"consumer_assignment_interval_ms": 0} | limits))
    assert desk.heartbeat(consumer.a_join("new", "t")).assignment == parts(t=[0, 1, 2, 3])
    return desk


def test_a_join_is_answered_at_once() -> None:
    desk = _desk()
    assert desk.join(a_join()) == Joined(Fault.MEMBER_ID_REQUIRED, "made-up")
    assert list(desk.consumers.members) == ["new"]
    reply = desk.join(a_join("made-up"))
    assert reply == Joined(Fault.NONE, "made-up", 3, "consumer", "range", "", ())
    assert desk.consumers.members["made-up"].progress is Progress.UNRELEASED
    assert told(desk.sync(a_sync("made-up", 3))) == {}


def test_old_clients_are_let_in_without_an_id() -> None:
    desk = _desk()
    reply = desk.join(a_join(must_know_id=False))
    assert (reply.member_id, list(desk.consumers.members)) == ("made-up", ["new", "made-up"])


def test_the_way_to_a_share() -> None:
    desk = _desk()
    desk.join(a_join("old"))
    desk.sync(a_sync("old", 3))
    assert desk.beat(a_beat("old", 3)) is Fault.NONE
    desk.heartbeat(consumer.a_beat("new", 2))
    assert desk.beat(a_beat("old", 3)) is Fault.NONE
    desk.heartbeat(consumer.a_beat("new", 2, owned=parts(t=[0, 1])))
    assert desk.beat(a_beat("old", 3)) is Fault.REBALANCE_IN_PROGRESS
    assert desk.join(a_join("old", said("t", owned={}))).fault is Fault.NONE  # type: ignore[union-attr]
    assert told(desk.sync(a_sync("old", 3))) == {"t": (2, 3)}
    assert desk.beat(a_beat("old", 3)) is Fault.NONE
    assert state_name(desk.consumers) == "Stable"


def _sharing() -> Desk:
    """`old` has two partitions."""
    desk = _desk()
    desk.heartbeat(consumer.a_beat("new", 2, owned={}))
    desk.join(a_join("old"))
    desk.heartbeat(consumer.a_beat("new", 2, owned={}))
    desk.join(a_join("old"))
    assert told(desk.sync(a_sync("old", 3))) == {"t": (2, 3)}
    return desk


def test_a_member_gives_up_by_joining_without() -> None:
    desk = _sharing()
    desk.heartbeat(consumer.a_join("third", "t"))
    assert desk.beat(a_beat("old", 3)) is Fault.REBALANCE_IN_PROGRESS
    reply = desk.join(a_join("old", said("t", owned={"t": (2, 3)})))
    assert reply == Joined(Fault.NONE, "old", 3, "consumer", "range")
    assert desk.consumers.members["old"].progress is Progress.UNREVOKED
    left = told(desk.sync(a_sync("old", 3)))
    assert len(left["t"]) == 1
    assert desk.beat(a_beat("old", 3)) is Fault.REBALANCE_IN_PROGRESS
    reply = desk.join(a_join("old", said("t", owned=left)))
    assert (reply.fault, reply.generation) == (Fault.NONE, 4)  # type: ignore[union-attr]
    assert told(desk.sync(a_sync("old", 4))) == left
    assert desk.beat(a_beat("old", 4)) is Fault.NONE


def test_one_whose_version_does_not_say_has_given_up_everything() -> None:
    desk = _sharing()
    desk.heartbeat(consumer.a_join("third", "t"))
    reply = desk.join(a_join("old", said("t", version=0)))
    assert (reply.fault, reply.generation) == (Fault.NONE, 4)  # type: ignore[union-attr]


def test_assignments_come_in_the_version_of_the_member() -> None:
    desk = _desk()
    for version, answered in ((0, 0), (1, 1), (3, 3), (9, 3)):
        desk.join(a_join("old", said("t", version=version)))
        reply = desk.sync(a_sync("old", 3))
        assert isinstance(reply, Synced)
        assert version_of(reply.assignment) == answered


def test_joins_that_are_applied_twice() -> None:
    desk = _desk()
    first = desk.join(a_join("old"))
    assert desk.join(a_join("old")) == first
    desk = _desk()
    first = desk.join(a_join(instance_id="i"))
    assert desk.join(a_join(instance_id="i")) == first
    assert len(desk.consumers.members) == 2


@pytest.mark.parametrize(
    ("changes", "limits", "fault"),
    [
        ({}, {"consumer_migration_policy": "disabled"}, Fault.INCONSISTENT_GROUP_PROTOCOL),
        ({}, {"consumer_max_size": 2}, Fault.GROUP_MAX_SIZE_REACHED),
        ({"protocol_type": "connect"}, {}, Fault.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": ()}, {}, Fault.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": (("sticky", said("t")),)}, {}, Fault.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": (("range", b"\xff"),)}, {}, Fault.INCONSISTENT_GROUP_PROTOCOL),
        ({"session_timeout_ms": 1}, {}, Fault.INVALID_SESSION_TIMEOUT),
        ({"instance_id": "i"}, {}, Fault.UNKNOWN_MEMBER_ID),
        ({"instance_id": "held"}, {}, Fault.FENCED_INSTANCE_ID),
    ],
)
def test_joins_that_are_refused(changes: dict[str, Any], limits: dict[str, Any], fault: Fault) -> None:
    desk = _desk()
    desk.join(a_join(new_id="holder", instance_id="held"))
    desk.limits = GroupLimits(**limits)
    group = desk.group
    reply = desk.join(a_join("old", **changes))
    assert reply.fault is fault  # type: ignore[union-attr]
    assert desk.group is group


def test_syncs_that_are_refused() -> None:
    desk = _desk()
    desk.join(a_join(new_id="old", instance_id="i"))
    refused = {
        Fault.INCONSISTENT_GROUP_PROTOCOL: [
            a_sync("old", 3, protocol=None),
            a_sync("old", 3, protocol_type="connect"),
            a_sync("old", 3, protocol="sticky"),
        ],
        Fault.UNKNOWN_MEMBER_ID: [a_sync("x", 3), a_sync("new", 2), a_sync("old", 3, instance_id="j")],
        Fault.FENCED_INSTANCE_ID: [a_sync("x", 3, instance_id="i")],
        Fault.ILLEGAL_GENERATION: [a_sync("old", 2)],
    }
    group = desk.group
    for fault, asks in refused.items():
        for ask in asks:
            assert desk.sync(ask) == Synced(fault)
    assert desk.group is group


def test_a_sync_that_comes_too_late() -> None:
    desk = _desk()
    desk.join(a_join("old"))
    desk.heartbeat(consumer.a_join("third", "t"))
    assert desk.sync(a_sync("old", 3)) == Synced(Fault.REBALANCE_IN_PROGRESS)
    assert desk.timer(TimerKind.CLASSIC_JOIN, "old") is not None


def test_heartbeats_that_are_refused() -> None:
    desk = _sharing()
    assert desk.beat(a_beat("x", 3)) is Fault.UNKNOWN_MEMBER_ID
    assert desk.beat(a_beat("new", 3)) is Fault.UNKNOWN_MEMBER_ID
    assert desk.beat(a_beat("old", 2)) is Fault.ILLEGAL_GENERATION


def test_quiet_members_change_nothing() -> None:
    desk = _sharing()
    group = desk.group
    assert desk.beat(a_beat("old", 3)) is Fault.NONE
    desk.sync(a_sync("old", 3))
    assert desk.group is group


def test_members_are_attached_to_the_broker_they_call() -> None:
    desk = _sharing()
    desk.beat(a_beat("old", 3, broker=2))
    assert desk.consumers.members["old"].broker == 2
    desk.sync(a_sync("old", 3, broker=3))
    assert desk.consumers.members["old"].broker == 3
    desk.join(a_join("old", broker=4))
    assert desk.consumers.members["old"].broker == 4


def test_the_timers_of_a_classic_member() -> None:
    desk = _desk()
    desk.join(a_join("old"))
    first = desk.timer(TimerKind.CLASSIC_SYNC, "old")
    assert first is not None
    assert desk.timer(TimerKind.CLASSIC_JOIN, "old") is None
    desk.join(a_join("old"))
    assert desk.timer(TimerKind.CLASSIC_SYNC, "old") not in {None, first}
    desk.sync(a_sync("old", 3))
    assert desk.timer(TimerKind.CLASSIC_SYNC, "old") is None
    desk.heartbeat(consumer.a_join("third", "t"))
    assert desk.timer(TimerKind.CLASSIC_JOIN, "old") is None
    desk.beat(a_beat("old", 3))
    told_to_join = desk.timer(TimerKind.CLASSIC_JOIN, "old")
    assert told_to_join is not None
    group = desk.group
    desk.beat(a_beat("old", 3))
    assert desk.group is group
    desk.join(a_join("old"))
    assert desk.timer(TimerKind.CLASSIC_JOIN, "old") is None
    desk.fire(told_to_join)
    assert "old" in desk.consumers.members


def test_one_that_does_not_join_in_time_is_put_out() -> None:
    desk = _sharing()
    desk.heartbeat(consumer.a_join("third", "t"))
    desk.beat(a_beat("old", 3))
    told_to_join = desk.timer(TimerKind.CLASSIC_JOIN, "old")
    assert told_to_join is not None
    assert desk.timer(TimerKind.REVOCATION, "old") is None
    desk.fire(told_to_join)
    assert set(desk.consumers.members) == {"new", "third"}


def test_one_that_does_not_sync_in_time_is_put_out() -> None:
    desk = _desk()
    desk.join(a_join("old"))
    must_sync = desk.timer(TimerKind.CLASSIC_SYNC, "old")
    assert must_sync is not None
    desk.fire(must_sync)
    assert list(desk.consumers.members) == ["new"]


def test_the_session_is_the_members_own() -> None:
    desk = _desk()
    desk.join(a_join("old", session_timeout_ms=7_000))
    session = desk.timer(TimerKind.SESSION, "old")
    assert session is not None
    desk.fire(session)
    assert list(desk.consumers.members) == ["new"]


def test_leaving() -> None:
    desk = _sharing()
    desk.join(a_join(new_id="static", instance_id="i"))
    epoch = desk.consumers.epoch
    faults = desk.leave(Leaver("old"), Leaver("x"), Leaver("", "i"), Leaver("", "j"), Leaver("new", "i"))
    none, unknown = Fault.NONE, Fault.UNKNOWN_MEMBER_ID
    assert faults == (none, unknown, none, unknown, Fault.FENCED_INSTANCE_ID)
    assert (list(desk.consumers.members), desk.consumers.epoch) == (["new"], epoch + 1)
    group = desk.group
    assert desk.leave(Leaver("x")) == (unknown,)
    assert desk.group is group


def test_a_member_may_turn_to_the_consumer_protocol() -> None:
    desk = _sharing()
    reply = desk.heartbeat(consumer.a_join("old", "t"))
    assert (reply.fault, reply.assignment) == (Fault.NONE, parts(t=[2, 3]))
    assert desk.consumers.members["old"].classic is None


def test_what_a_classic_member_no_longer_wants_is_given_up() -> None:
    desk = _desk()
    desk.topics = desk.topics.with_topic("u", 1)
    desk.join(a_join("old", said("u")))
    assert told(desk.sync(a_sync("old", 3))) == {"u": (0,)}
    desk.join(a_join("old", said("t", owned={"u": (0,)})))
    assert desk.consumers.members["old"].revoking == {topic_id("u"): {0: 3}}


def test_one_that_has_to_give_up_before_there_is_a_new_target_is_told_so() -> None:
    desk = _desk()
    desk.topics = desk.topics.with_topic("u", 1)
    desk.join(a_join("old", said("t", "u")))
    desk.sync(a_sync("old", 3))
    desk.limits = GroupLimits()
    desk.join(a_join("old", said("t", owned={"u": (0,)})))
    assert desk.consumers.members["old"].epoch == desk.consumers.target_epoch < desk.consumers.epoch
    assert desk.beat(a_beat("old", 3)) is Fault.REBALANCE_IN_PROGRESS


def test_what_is_owned_is_known_by_the_group_if_not_by_the_broker() -> None:
    desk = _sharing()
    desk.heartbeat(consumer.a_join("third", "t"))
    ask = a_join("old", said("t", owned={"t": (2, 3)}))
    outcome = migration.join(desk.consumers, ask, image(), desk.limits, desk.now_ms)
    assert isinstance(outcome.group, ConsumerGroup)
    assert outcome.group.members["old"].progress is Progress.UNREVOKED
