"""Invariants of every consumer group."""

from collections import Counter
from collections.abc import Iterator

from dray.groups.consumer import ConsumerGroup, subscribed_topics, timers
from dray.groups.stored import decode_group, encode_group
from dray.groups.timers import TimerKind
from tests.groups.consumer.builders import LIMITS


def check(group: ConsumerGroup) -> None:
    assert decode_group(encode_group(group)) == group
    _check_partitions(group)
    _check_members(group)
    _check_subscriptions(group)
    _check_timers(group)


def check_growth(before: ConsumerGroup, after: ConsumerGroup) -> None:
    """Epochs never decrease, neither those of the group nor those of members."""
    assert after.epoch >= before.epoch
    assert after.target_epoch >= before.target_epoch
    if (after.topics, after.members.keys()) != (before.topics, before.members.keys()) and not _is_renamed(
        before, after
    ):
        assert after.epoch > before.epoch or not _subscribes(before, after)
    for member_id in before.members.keys() & after.members.keys():
        if after.members[member_id].epoch > 0:
            assert after.members[member_id].epoch >= before.members[member_id].epoch


def held_partitions(group: ConsumerGroup) -> Iterator[tuple[bytes, int]]:
    """Every partition that a member owns or is revoking."""
    for member in group.members.values():
        for of in (member.assigned, member.revoking):
            yield from ((topic_id, number) for topic_id, numbers in of.items() for number in numbers)


def _check_partitions(group: ConsumerGroup) -> None:
    twice = [partition for partition, count in Counter(held_partitions(group)).items() if count > 1]
    assert not twice
    targets = [
        (topic_id, number)
        for target in group.targets.values()
        for topic_id, numbers in target.items()
        for number in numbers
    ]
    assert len(targets) == len(set(targets))
    for member in group.members.values():
        assert all(member.assigned.values())
        assert all(member.revoking.values())


def _check_members(group: ConsumerGroup) -> None:
    assert group.target_epoch <= group.epoch
    assert group.targets.keys() <= group.members.keys()
    instances = [member.instance_id for member in group.members.values() if member.instance_id is not None]
    assert len(instances) == len(set(instances))
    for member in group.members.values():
        # Epoch 0 is for classic members of a group that was upgraded before its first generation.
        lowest = 1 if member.classic is None else 0
        assert member.has_left_temporarily or lowest <= member.epoch <= group.target_epoch
        assert member.previous_epoch <= group.target_epoch
        for numbers in (*member.assigned.values(), *member.revoking.values()):
            assert all(0 <= since <= group.target_epoch for since in numbers.values())


def _check_subscriptions(group: ConsumerGroup) -> None:
    assert group.topics.keys() <= subscribed_topics(group)
    assert group.regexes.keys() == {member.regex for member in group.members.values()} - {""}


def _check_timers(group: ConsumerGroup) -> None:
    running = [spec.timer for spec in timers(group, LIMITS)]
    assert len(running) == len(set(running))
    sessions = {timer.member_id for timer in running if timer.kind is TimerKind.SESSION}
    assert sessions == group.members.keys()


def _subscribes(before: ConsumerGroup, after: ConsumerGroup) -> bool:
    """Whether the change of members or topics affects the assignment."""
    changed = before.members.keys() ^ after.members.keys()
    either = {**before.members, **after.members}
    return after.topics != before.topics or any(either[key].names or either[key].regex for key in changed)


def _is_renamed(before: ConsumerGroup, after: ConsumerGroup) -> bool:
    """Whether a static member was replaced, which moves nothing."""
    return after.topics == before.topics and {member.instance_id for member in before.members.values()} == {
        member.instance_id for member in after.members.values()
    }
