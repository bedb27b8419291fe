"""A classic group that a client of the consumer protocol joins."""

from typing import Any

import pytest

from dray.groups.asks import Leaver
from dray.groups.classic import Phase
from dray.groups.consumer import ConsumerGroup, Progress, Topic, state_name
from dray.groups.faults import Fault
from dray.groups.limits import GroupLimits
from dray.groups.outcome import Parked, TimerKind
from dray.groups.replies import Joined, Synced
from tests.groups.consumer import builders as consumer
from tests.groups.consumer.builders import image, parts, topic_id
from tests.groups.migration.builders import (
    Desk,
    a_beat,
    a_join,
    a_sync,
    given,
    pass_initial_delay,
    said,
    stable_classic,
)

T = topic_id("t")
JOIN = consumer.a_join("new", "t")
CUSTOM = (
    "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default "
    "assignor before re-attempting the upgrade"
)


def test_members_are_taken_along_with_what_they_have() -> None:
    desk = Desk(image(t=4))
    generation = stable_classic(desk, {"a": given(t=[0, 1]), "b": given(t=[2, 3])})
    reply = desk.heartbeat(JOIN)
    assert (reply.fault, reply.epoch, reply.assignment) == (Fault.NONE, generation + 1, {})
    group = desk.consumers
    assert (group.epoch, group.target_epoch, group.topics) == (2, 2, {"t": Topic(T, 4)})
    member = group.members["a"]
    assert (member.epoch, member.previous_epoch, member.progress) == (1, 1, Progress.STABLE)
    assert (member.assigned, member.names) == ({T: {0: 1, 1: 1}}, ("t",))
    assert member.classic is not None
    assert (member.classic.session_timeout_ms, member.classic.protocols) == (10_000, (("range", said("t")),))
    assert (member.rebalance_timeout_ms, member.client_host, member.broker) == (60_000, "/10.0.0.1", 1)
    assert state_name(group) == "Reconciling"


def test_members_are_told_to_join_again() -> None:
    desk = Desk(image(t=4))
    stable_classic(desk, {"a": given(t=[0, 1]), "b": given(t=[2, 3])})
    desk.heartbeat(JOIN)
    assert desk.beat(a_beat("a", 1)) is Fault.REBALANCE_IN_PROGRESS
    assert desk.timer(TimerKind.SESSION, "a") is not None


def test_who_waits_for_a_join_is_told_to_join_again() -> None:
    desk = Desk(image(t=4))
    stable_classic(desk, {"a": given(t=[0, 1]), "b": given(t=[2, 3])})
    waiting = desk.join(a_join("b", metadata=said("t", "u")))
    assert isinstance(waiting, Parked)
    desk.heartbeat(JOIN)
    assert desk.settle(waiting) == Joined(Fault.REBALANCE_IN_PROGRESS, "b")
    assert desk.settle(Parked("x", None)) == Joined(Fault.UNKNOWN_MEMBER_ID, "x")


def test_who_waits_for_a_sync_is_told_to_join_again() -> None:
    desk = Desk(image(t=4))
    desk.join(a_join(new_id="a", must_know_id=False))
    desk.join(a_join(new_id="b", must_know_id=False))
    pass_initial_delay(desk)
    waiting = desk.sync(a_sync("b", 1))
    assert isinstance(waiting, Parked)
    desk.heartbeat(JOIN)
    assert desk.settle(waiting) == Synced(Fault.REBALANCE_IN_PROGRESS)
    assert desk.consumers.members["b"].assigned == {}


def test_a_group_before_its_first_generation() -> None:
    desk = Desk(image(t=4), GroupLimits(consumer_assignment_interval_ms=0))
    desk.join(a_join(new_id="a", must_know_id=False))
    assert desk.classics.generation == 0
    reply = desk.heartbeat(JOIN)
    assert (reply.fault, reply.epoch, desk.consumers.members["a"].epoch) == (Fault.NONE, 2, 0)
    assert desk.settle(Parked("a", None)) == Joined(Fault.REBALANCE_IN_PROGRESS, "a")


def test_a_group_that_only_waits_for_somebody_who_was_given_an_id() -> None:
    desk = Desk(image(t=4))
    desk.join(a_join(new_id="a", must_know_id=False))
    desk.join(a_join(new_id="b"))
    desk.leave(Leaver("a"))
    assert (desk.classics.phase, desk.classics.members) == (Phase.PREPARING, {})
    assert desk.heartbeat(JOIN).assignment == parts(t=[0, 1, 2, 3])


def test_an_empty_classic_group_is_forgotten() -> None:
    desk = Desk(image(t=4))
    stable_classic(desk, {"a": given(t=[0])})
    desk.leave(Leaver("a"))
    assert not desk.classics.members
    reply = desk.heartbeat(JOIN)
    assert (reply.epoch, reply.assignment) == (2, parts(t=[0, 1, 2, 3]))


@pytest.mark.parametrize("epoch", [-2, -1, 3])
def test_only_a_join_changes_a_group_over(epoch: int) -> None:
    desk = Desk(image(t=4))
    stable_classic(desk, {"a": given(t=[0])})
    group = desk.group
    reply = desk.heartbeat(consumer.a_beat("a", epoch, instance_id="i"))
    assert (reply.fault, reply.message) == (Fault.GROUP_ID_NOT_FOUND, "Group g is not a consumer group.")
    assert desk.group is group


def _message(reason: str) -> str:
    return f"Cannot upgrade classic group g to consumer group because {reason}."


@pytest.mark.parametrize(
    ("assignments", "changes", "limits", "reason"),
    [
        ({"a": given(t=[0])}, {}, {"consumer_migration_policy": "disabled"}, "online upgrade is disabled"),
        ({"a": given(t=[0])}, {}, {"consumer_migration_policy": "downgrade"}, "online upgrade is disabled"),
        (
            {"a": given(t=[0])},
            {"protocol_type": "connect"},
            {},
            "the group does not use the consumer embedded protocol",
        ),
        (
            {"a": given(t=[0]), "b": b""},
            {},
            {"consumer_max_size": 1},
            "the group size exceeds the consumer group maximum size",
        ),
        ({"a": b"\x00"}, {}, {}, "the embedded consumer protocol is malformed"),
        ({"a": b""}, {"metadata": b"\x00"}, {}, "the embedded consumer protocol is malformed"),
        (
            {"a": given(t=[0], user_data=b"mine")},
            {},
            {},
            CUSTOM,
        ),
        (
            {"a": given(t=[0, 1]), "b": given(t=[1])},
            {},
            {},
            "a partition is assigned to more than one member",
        ),
    ],
)
def test_groups_that_cannot_be_changed_over(
    assignments: dict[str, bytes], changes: dict[str, Any], limits: dict[str, Any], reason: str
) -> None:
    desk = Desk(image(t=4), GroupLimits(initial_rebalance_delay_ms=0, **limits))
    if changes.get("protocol_type") is None:
        stable_classic(desk, assignments, **changes)
    else:
        desk.join(a_join(new_id="a", must_know_id=False, **changes))
    group = desk.group
    reply = desk.heartbeat(JOIN)
    assert (reply.fault, reply.message) == (Fault.GROUP_ID_NOT_FOUND, _message(reason))
    assert desk.group is group


def test_a_newcomer_that_is_refused_changes_nothing() -> None:
    desk = Desk(image(t=4), GroupLimits(initial_rebalance_delay_ms=0, consumer_max_size=1))
    stable_classic(desk, {"a": given(t=[0])})
    group = desk.group
    assert desk.heartbeat(JOIN).fault is Fault.GROUP_MAX_SIZE_REACHED
    assert desk.heartbeat(consumer.a_join("", "t")).fault is Fault.INVALID_REQUEST
    assert desk.group is group


def test_user_data_that_is_empty_does_not_matter() -> None:
    desk = Desk(image(t=4))
    stable_classic(desk, {"a": given(t=[0], user_data=b"")})
    assert desk.heartbeat(JOIN).fault is Fault.NONE


def test_topics_that_are_no_more_are_left_behind() -> None:
    desk = Desk(image(t=4))
    stable_classic(desk, {"a": given(t=[0], gone=[1])})
    desk.heartbeat(JOIN)
    assert desk.consumers.members["a"].assigned == {T: {0: 1}}


def test_a_static_member_may_come_back_with_the_other_protocol() -> None:
    desk = Desk(image(t=2))
    stable_classic(desk, {"a": given(t=[0, 1])}, instance_id="i")
    reply = desk.heartbeat(consumer.a_join("new", "t", instance_id="i"))
    assert (reply.fault, reply.epoch, reply.assignment) == (Fault.NONE, 1, parts(t=[0, 1]))
    assert isinstance(desk.group, ConsumerGroup)
    assert list(desk.group.members) == ["new"]
    assert desk.group.members["new"].classic is None
