"""A group of the consumer protocol that only classic members are left in."""

from typing import Any

import pytest

from dray.groups.asks import Leaver
from dray.groups.classic import ClassicGroup, Phase
from dray.groups.consumer import ConsumerGroup
from dray.groups.embedded import decode_assignment
from dray.groups.faults import Fault
from dray.groups.limits import GroupLimits
from dray.groups.outcome import Parked, TimerKind
from dray.groups.replies import Joined
from tests.groups.consumer import builders as consumer
from tests.groups.consumer.builders import image
from tests.groups.migration.builders import Desk, a_beat, a_join, a_sync, said, told


def _mixed(**limits: Any) -> Desk:
    """`new` of the consumer protocol, with the instance id `i`, and `old` and `older` of the classic one."""
    desk = Desk(image(t=3), GroupLimits(**{"consumer_assignment_interval_ms": 0} | limits))
    desk.heartbeat(consumer.a_join("new", "t", instance_id="i"))
    for _ in range(2):
        for member_id in ("old", "older"):
            desk.join(a_join(member_id))
        desk.heartbeat(consumer.a_beat("new", desk.consumers.members["new"].epoch, owned={}, instance_id="i"))
    for member_id in ("old", "older"):
        desk.join(a_join(member_id))
        assert len(told(desk.sync(a_sync(member_id, 4)))["t"]) == 1
    return desk


def test_it_becomes_a_classic_group_that_rebalances() -> None:
    desk = _mixed()
    desk.heartbeat(consumer.a_beat("new", -1, instance_id="i"))
    group = desk.classics
    assert (group.phase, group.generation, group.protocol_type) == (Phase.PREPARING, 4, "consumer")
    assert (group.protocol, group.leader, list(group.members)) == ("range", "old", ["old", "older"])
    member = group.members["old"]
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (10_000, 60_000)
    assert len(decode_assignment(member.assignment).partitions["t"]) == 1
    assert desk.beat(a_beat("old", 4)) is Fault.REBALANCE_IN_PROGRESS
    assert isinstance(desk.join(a_join("old")), Parked)
    assert desk.join(a_join("older")) == Joined(Fault.NONE, "older", 5, "consumer", "range", "old")


def test_a_member_that_is_put_out_is_one_that_is_gone() -> None:
    desk = _mixed()
    session = desk.timer(TimerKind.SESSION, "new")
    assert session is not None
    desk.fire(session)
    assert desk.classics.phase is Phase.PREPARING


def test_an_admin_may_take_the_last_one_out() -> None:
    desk = _mixed()
    assert desk.leave(Leaver("", "i")) == (Fault.NONE,)
    assert isinstance(desk.group, ClassicGroup)


def test_other_members_may_go_without_consequence() -> None:
    desk = _mixed()
    desk.leave(Leaver("old"), Leaver("older"))
    assert isinstance(desk.group, ConsumerGroup)


def test_nobody_is_left() -> None:
    desk = _mixed()
    desk.leave(Leaver("old"), Leaver("older"), Leaver("new", "i"))
    assert isinstance(desk.group, ConsumerGroup)
    assert not desk.group.members


@pytest.mark.parametrize(
    "limits", [{"consumer_migration_policy": "upgrade"}, {"max_size": 1}], ids=["policy", "size"]
)
def test_groups_that_stay_what_they_are(limits: dict[str, Any]) -> None:
    desk = _mixed(**limits)
    desk.heartbeat(consumer.a_beat("new", -1, instance_id="i"))
    assert list(desk.consumers.members) == ["old", "older"]
    assert desk.beat(a_beat("old", 4)) is Fault.NONE
    assert desk.join(a_join("old")) == Joined(Fault.NONE, "old", 5, "consumer", "range")


def test_a_static_member_that_comes_back_classic() -> None:
    """Everybody has what it is to have, and keeps it."""
    desk = _mixed()
    reply = desk.join(a_join(new_id="back", instance_id="i"))
    assert reply == Joined(Fault.NONE, "back", 4, "consumer", "range")
    assert (desk.classics.phase, desk.classics.generation) == (Phase.STABLE, 4)
    assert len(told(desk.sync(a_sync("back", 4, instance_id="i")))["t"]) == 1
    assert desk.beat(a_beat("old", 4)) is Fault.NONE
    assert {timer.kind for timer in desk.timers()} == {TimerKind.SESSION}


def test_a_static_member_that_comes_back_classic_and_wants_something_else() -> None:
    desk = _mixed()
    desk.topics = desk.topics.with_topic("u", 1)
    reply = desk.join(a_join(new_id="back", instance_id="i", metadata=said("t", "u")))
    assert reply == Joined(Fault.NONE, "back", 0, "consumer", "range")
    assert (desk.classics.phase, desk.classics.generation) == (Phase.PREPARING, 5)


def test_a_static_member_that_comes_back_classic_while_others_give_up() -> None:
    desk = _mixed()
    desk.topics = desk.topics.with_topic("t", 6)
    desk.heartbeat(consumer.a_beat("new", 4, instance_id="i"))
    assert desk.consumers.target_epoch == desk.consumers.epoch == 5
    desk.join(a_join(new_id="back", instance_id="i"))
    assert desk.classics.phase is Phase.PREPARING


def test_a_static_member_that_comes_back_classic_among_others() -> None:
    desk = _mixed()
    desk.heartbeat(consumer.a_join("newer", "t"))
    desk.join(a_join(new_id="back", instance_id="i"))
    assert set(desk.consumers.members) == {"old", "older", "newer", "back"}
    assert desk.consumers.members["back"].classic is not None


def test_a_pattern_goes_with_the_member_it_came_from() -> None:
    desk = Desk(image(t=1))
    desk.heartbeat(consumer.a_join("new", "t"))
    desk.heartbeat(consumer.a_join("static", regex="t.*", instance_id="i"))
    desk.join(a_join(new_id="back", instance_id="i"))
    assert desk.consumers.members["back"].regex == ""
    assert desk.consumers.regexes == {}


def test_members_keep_what_they_have_not_yet_given_up() -> None:
    """Else the group would forget it, if it changed back before they have joined again."""
    desk = Desk(image(t=2))
    desk.heartbeat(consumer.a_join("new"))
    desk.join(a_join("old"))
    desk.heartbeat(consumer.a_beat("new", 1, names=("t",)))
    desk.join(a_join("old", said("t", owned={"t": (0, 1)})))
    assert desk.consumers.members["old"].revoking
    desk.heartbeat(consumer.a_beat("new", -1))
    kept = decode_assignment(desk.classics.members["old"].assignment)
    assert sorted(kept.partitions["t"]) == [0, 1]


def test_bytes_that_nobody_read_do_not_stand_in_the_way() -> None:
    """Of the protocols a member offers only the first is read when it joins."""
    desk = Desk(image(t=2))
    desk.heartbeat(consumer.a_join("new", "t"))
    desk.join(a_join("old", protocols=(("mine", said("t")), ("range", b"\xff"))))
    desk.join(a_join("older", protocols=(("range", said("t")), ("mine", b"\xff"))))
    desk.heartbeat(consumer.a_beat("new", -1))
    assert isinstance(desk.group, ClassicGroup)
