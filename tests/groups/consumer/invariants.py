"""What holds of every group of the consumer protocol, whatever happened to it."""

from collections import Counter
from collections.abc import Iterator

from dray.groups.consumer import ConsumerGroup, subscribed_topics, timers
from dray.groups.outcome import TimerKind
from dray.groups.stored import decode_group, encode_group
from tests.groups.consumer.builders import LIMITS


def check(group: ConsumerGroup) -> None:
    assert decode_group(encode_group(group)) == group
    _check_partitions(group)
    _check_members(group)
    _check_subscriptions(group)
    _check_timers(group)


def check_growth(before: ConsumerGroup, after: ConsumerGroup) -> None:
    """Epochs only grow, the group's as the members'."""
    assert after.epoch >= before.epoch
    assert after.target_epoch >= before.target_epoch
    if (after.topics, after.members.keys()) != (before.topics, before.members.keys()) and not _is_renamed(
        before, after
    ):
        assert after.epoch > before.epoch or not _subscribes(before, after)
    for member_id in before.members.keys() & after.members.keys():
        if after.members[member_id].epoch > 0:
            assert after.members[member_id].epoch >= before.members[member_id].epoch


def held(group: ConsumerGroup) -> Iterator[tuple[bytes, int]]:
    """Every partition that a member has, or has yet to give up."""
    for member in group.members.values():
        for of in (member.assigned, member.revoking):
            yield from ((topic_id, number) for topic_id, numbers in of.items() for number in numbers)


def _check_partitions(group: ConsumerGroup) -> None:
    twice = [partition for partition, count in Counter(held(group)).items() if count > 1]
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
        # Epoch 0 is for classic members of a group that was changed over before its first generation.
        lowest = 1 if member.classic is None else 0
        assert member.away or lowest <= member.epoch <= group.target_epoch
        assert member.previous_epoch <= group.target_epoch
        for numbers in (*member.assigned.values(), *member.revoking.values()):
            assert all(0 <= since <= group.target_epoch for since in numbers.values())


def _check_subscriptions(group: ConsumerGroup) -> None:
    assert group.topics.keys() <= subscribed_topics(group)
    assert group.regexes.keys() == {member.regex for member in group.members.values()} - {""}


def _check_timers(group: ConsumerGroup) -> None:
    asked = [asked.timer for asked in timers(group, LIMITS)]
    assert len(asked) == len(set(asked))
    sessions = {timer.member_id for timer in asked if timer.kind is TimerKind.SESSION}
    assert sessions == group.members.keys()


def _subscribes(before: ConsumerGroup, after: ConsumerGroup) -> bool:
    """Whether one who came or went, or the topics, made a difference to who reads what."""
    changed = before.members.keys() ^ after.members.keys()
    either = {**before.members, **after.members}
    return after.topics != before.topics or any(either[key].names or either[key].regex for key in changed)


def _is_renamed(before: ConsumerGroup, after: ConsumerGroup) -> bool:
    """Whether a static member was replaced, which moves nothing."""
    return after.topics == before.topics and {member.instance_id for member in before.members.values()} == {
        member.instance_id for member in after.members.values()
    }
