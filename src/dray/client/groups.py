"""Consumer groups of both protocols: list, describe, delete, and their committed offsets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, KafkaError, TopicPartition
from confluent_kafka.admin import ConsumerGroupDescription, ConsumerGroupListing, MemberDescription

from dray.client.admin import Admin
from dray.client.errors import BrokerError, UnknownTopic, client_error
from dray.client.offsets import LATEST, offsets_at
from dray.client.topics import find_topic

Offsets: TypeAlias = Mapping[str, Mapping[int, int]]
"""By topic and partition."""
_CONSUMER: Final = "consumer"


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A group by name."""

    group: str
    protocol: str
    """classic or consumer."""
    state: str
    type: str
    """consumer; empty for a group that only commits offsets."""


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of a group and its assigned partitions, by topic."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: dict[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class GroupState:
    """A group as its coordinator describes it."""

    group: str
    protocol: str
    type: str
    state: str
    assignor: str
    coordinator: int
    members: tuple[GroupMember, ...]


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """Progress of a group in a partition; None where nothing is committed, or the topic was deleted."""

    topic: str
    partition: int
    committed: int | None
    end: int | None
    member_id: str | None

    @property
    def lag(self) -> int | None:
        if self.committed is None or self.end is None:
            return None
        return max(0, self.end - self.committed)


@dataclass(frozen=True, slots=True)
class GroupDetails:
    """A group with its lag in every partition."""

    state: GroupState
    partitions: tuple[PartitionLag, ...]

    @property
    def lag(self) -> int:
        return sum(one.lag or 0 for one in self.partitions)


def list_groups(admin: Admin) -> list[ListedGroup]:
    """Return all groups by name."""

    def look_up() -> list[ListedGroup]:
        found = admin.wait(admin.client.list_consumer_groups(**admin.options), "the list of groups")
        for error in found.errors:
            raise client_error(cast(KafkaError, error), "the list of groups")
        return sorted(map(_listed, found.valid), key=lambda one: one.group)

    return admin.retry(look_up)


def find_groups(admin: Admin, groups: Sequence[str]) -> dict[str, GroupState]:
    """Return those of these groups that exist."""

    def look_up() -> dict[str, GroupState]:
        futures = admin.client.describe_consumer_groups(list(dict.fromkeys(groups)), **admin.options)
        found = admin.wait_each(futures, _subject)
        return {
            name: _state(group) for name, group in found.items() if group.state != ConsumerGroupState.DEAD
        }

    return admin.retry(look_up) if groups else {}


def describe_groups(admin: Admin, names: Sequence[str]) -> list[GroupDetails]:
    """Return these groups in full, or all of them, by name."""
    wanted = names or [group.group for group in list_groups(admin)]
    found = find_groups(admin, wanted)
    for name in names:
        if name not in found:
            raise unknown_group(name)
    return [_details(admin, found[name]) for name in sorted(found)]


def delete_group(admin: Admin, group: str) -> None:
    """Delete a group without members, and its offsets."""
    admin.retry(
        lambda: admin.wait_each(admin.client.delete_consumer_groups([group], **admin.options), _subject)
    )


def committed_offsets(admin: Admin, group: str) -> Offsets:
    """Return what a group has committed; nothing for a group that does not exist."""

    def look_up() -> Offsets:
        futures = admin.client.list_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(group)], **admin.options
        )
        subject = f"the offsets of group '{group}'"
        found: dict[str, dict[int, int]] = {}
        for result in admin.wait_each(futures, lambda _: subject).values():
            for place in result.topic_partitions:
                if place.error is not None:
                    raise client_error(place.error, subject)
                if place.offset >= 0:
                    found.setdefault(place.topic, {})[place.partition] = place.offset
        return dict(sorted(found.items()))

    return admin.retry(look_up)


def commit_offsets(admin: Admin, group: str, offsets: Offsets) -> None:
    """Commit offsets for a group without members; a group that does not exist is created."""
    places = [
        TopicPartition(topic, number, offset)
        for topic, of_topic in offsets.items()
        for number, offset in of_topic.items()
    ]

    def commit() -> None:
        futures = admin.client.alter_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(group, places)], **admin.options
        )
        for result in admin.wait_each(futures, lambda _: _subject(group)).values():
            for place in result.topic_partitions:
                if place.error is not None:
                    where = f"partition {place.partition} of topic '{place.topic}'"
                    raise client_error(place.error, f"{_subject(group)}, {where}")

    admin.retry(commit)


def unknown_group(name: str) -> BrokerError:
    code = KafkaError.GROUP_ID_NOT_FOUND
    return BrokerError(f"{_subject(name)}: there is no such group (GROUP_ID_NOT_FOUND)", code)


def _details(admin: Admin, state: GroupState) -> GroupDetails:
    committed = committed_offsets(admin, state.group)
    owners = {
        (topic, number): member.member_id
        for member in state.members
        for topic, numbers in member.partitions.items()
        for number in numbers
    }
    places = sorted(owners.keys() | set(_places(committed)))
    ends = {topic: _ends(admin, topic) for topic in dict.fromkeys(topic for topic, _ in places)}
    lags = (
        PartitionLag(
            topic,
            number,
            committed.get(topic, {}).get(number),
            ends[topic].get(number),
            owners.get((topic, number)),
        )
        for topic, number in places
    )
    return GroupDetails(state, tuple(lags))


def _places(offsets: Offsets) -> Iterator[tuple[str, int]]:
    return ((topic, number) for topic, of_topic in offsets.items() for number in of_topic)


def _ends(admin: Admin, topic: str) -> Mapping[int, int]:
    """Return the end of each partition; nothing for a topic that was deleted in the meantime."""
    try:
        return offsets_at(admin, topic, find_topic(admin, topic).partitions, LATEST)
    except UnknownTopic:
        return {}


def _listed(found: ConsumerGroupListing) -> ListedGroup:
    type_ = "" if found.is_simple_consumer_group else _CONSUMER
    return ListedGroup(
        found.group_id, found.type.name.lower(), _STATES[ConsumerGroupState(found.state)], type_
    )


def _state(found: ConsumerGroupDescription) -> GroupState:
    return GroupState(
        found.group_id,
        found.type.name.lower(),
        "" if found.is_simple_consumer_group else _CONSUMER,
        _STATES[ConsumerGroupState(found.state)],
        found.partition_assignor,
        found.coordinator.id,
        tuple(map(_member, found.members)),
    )


def _member(found: MemberDescription) -> GroupMember:
    partitions: dict[str, list[int]] = {}
    for place in found.assignment.topic_partitions:
        partitions.setdefault(place.topic, []).append(place.partition)
    return GroupMember(
        found.member_id,
        found.group_instance_id,
        found.client_id,
        found.host,
        {topic: tuple(sorted(numbers)) for topic, numbers in sorted(partitions.items())},
    )


def _subject(group: str) -> str:
    return f"group '{group}'"


_STATES: Final = {
    ConsumerGroupState.UNKNOWN: "Unknown",
    ConsumerGroupState.PREPARING_REBALANCING: "PreparingRebalance",
    ConsumerGroupState.COMPLETING_REBALANCING: "CompletingRebalance",
    ConsumerGroupState.STABLE: "Stable",
    ConsumerGroupState.DEAD: "Dead",
    ConsumerGroupState.EMPTY: "Empty",
}
"""Kafka's names of the states. librdkafka knows no Assigning and Reconciling of the consumer protocol."""
