"""What the members of a classic group have when it becomes one of the consumer protocol.

The leader's assignment says what a member is to have. Whether the client uses that already is another
question. A member that has fetched the assignment of this generation is taken at its word. But the answer
may be lost or under way, and one that has not fetched it uses what it had before. That is what it said in
its join that it owns; clients that say nothing of the kind give up everything before they join. So a member
also has what it owned, unless another member is known to have it.

Kafka takes the assignment alone for what is used, so that a client which goes on using its old partitions
while it joins (a cooperative one) may find that others are given them meanwhile.
"""

from collections.abc import Collection
from typing import Final, NamedTuple

from dray.groups.asks import Partitions
from dray.groups.classic import ClassicGroup, Member, Phase, select
from dray.groups.classic.protocols import metadata
from dray.groups.consumer import ClassicSide, ConsumerGroup, ConsumerMember, Progress
from dray.groups.consumer.held import partitions_in
from dray.groups.consumer.state import FIRST_EPOCH, Held, Target
from dray.groups.consumer.subscription import seen_topics
from dray.groups.embedded import NamedPartitions, Subscription, decode_assignment, decode_subscription
from dray.groups.topics import TopicImage

_CUSTOM_ASSIGNOR: Final = (
    "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default "
    "assignor before re-attempting the upgrade"
)


class Inconvertible(Exception):
    """The members have what they could not have in a group of the consumer protocol."""


class _Passenger(NamedTuple):
    """A member that is taken along."""

    member: Member
    subscription: Subscription
    target: Partitions
    """What the leader gave it."""
    owned: Partitions
    """What it said that it owns."""
    has_fetched: bool


def upgraded(group: ClassicGroup, topics: TopicImage, now_ms: int) -> ConsumerGroup:
    """The group as one of the consumer protocol; raises `Malformed` and `Inconvertible`."""
    passengers = _passengers(group, topics)
    # Before the first generation it is 0, which to members of the consumer protocol means to join.
    epoch = max(group.generation, FIRST_EPOCH)
    held = _held(passengers, group.generation)
    names = {name for passenger in passengers for name in passenger.subscription.topics}
    return ConsumerGroup(
        epoch=epoch,
        target_epoch=epoch,
        members={
            passenger.member.member_id: _member(passenger, group.generation, held[passenger.member.member_id])
            for passenger in passengers
        },
        targets={passenger.member.member_id: dict(passenger.target) for passenger in passengers},
        topics=seen_topics(names, topics),
        changed_at_ms=now_ms,
    )


def _passengers(group: ClassicGroup, topics: TopicImage) -> list[_Passenger]:
    members = group.members.values()
    # All protocols of a consumer come with the same subscription: one that everybody knows will do.
    protocol = select(members) if members else None
    return [
        _passenger(group, member, decode_subscription(metadata(member, protocol)), topics)
        for member in members
    ]


def _passenger(
    group: ClassicGroup, member: Member, subscription: Subscription, topics: TopicImage
) -> _Passenger:
    return _Passenger(
        member,
        subscription,
        _by_id(_given(member.assignment), topics),
        _by_id(subscription.owned or {}, topics),
        has_fetched=member.synced and not member.joining and group.phase is not Phase.COMPLETING,
    )


def _given(assignment: bytes) -> NamedPartitions:
    if not assignment:
        return {}
    given = decode_assignment(assignment)
    if given.user_data:
        raise Inconvertible(_CUSTOM_ASSIGNOR)
    return given.partitions


def _by_id(partitions: NamedPartitions, topics: TopicImage) -> Target:
    """Topics that are no more are left behind."""
    found = ((topics.find(name), numbers) for name, numbers in partitions.items() if numbers)
    return {seen.topic_id: numbers for seen, numbers in found if seen is not None}


def _held(passengers: Collection[_Passenger], generation: int) -> dict[str, Held]:
    """What each of them has, nothing twice."""
    _check_nothing_is_given_twice(passengers)
    owner: dict[tuple[bytes, int], str] = {}
    for passenger in passengers:
        if passenger.has_fetched:
            owner |= dict.fromkeys(_flat(passenger.target), passenger.member.member_id)
    # Of two that own the same, the one that was in a later generation knows better.
    for passenger in sorted(passengers, key=_last_generation, reverse=True):
        for partition in _flat(passenger.owned):
            owner.setdefault(partition, passenger.member.member_id)
    held: dict[str, Held] = {passenger.member.member_id: {} for passenger in passengers}
    for (topic_id, number), member_id in owner.items():
        held[member_id].setdefault(topic_id, {})[number] = generation
    return held


def _check_nothing_is_given_twice(passengers: Collection[_Passenger]) -> None:
    given = [partition for passenger in passengers for partition in _flat(passenger.target)]
    if len(given) != len(set(given)):
        raise Inconvertible("a partition is assigned to more than one member")


def _last_generation(passenger: _Passenger) -> int:
    return passenger.subscription.generation


def _flat(partitions: Partitions) -> list[tuple[bytes, int]]:
    return [(topic_id, number) for topic_id, numbers in partitions.items() for number in numbers]


def _member(passenger: _Passenger, generation: int, held: Held) -> ConsumerMember:
    member, subscription = passenger.member, passenger.subscription
    return ConsumerMember(
        client_id=member.client_id,
        client_host=member.client_host,
        broker=member.broker,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id or None,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        names=tuple(sorted(set(subscription.topics))),
        epoch=generation,
        previous_epoch=generation,
        # One that does not have what it is to have is told to join again.
        progress=Progress.STABLE if partitions_in(held) == passenger.target else Progress.UNRELEASED,
        assigned=held,
        classic=ClassicSide(member.session_timeout_ms, member.protocols),
    )
