"""Listing, describing and deleting groups of both protocols.

A group is asked for as one of the consumer protocol first and, if it is not, as a classic one: only the
broker knows which it is, and it may change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dray.cli.client.cluster import Cluster
from dray.cli.client.connection import Connection
from dray.cli.client.coordinators import coordinator_of, coordinators_of
from dray.cli.client.errors import NotServed, raise_for
from dray.groups.embedded import Malformed, NamedPartitions, decode_assignment
from dray.wire import ErrorCode
from dray.wire.apis import consumer_group_describe as consumer
from dray.wire.apis import describe_groups as classic
from dray.wire.apis.delete_groups import DELETE_GROUPS, DeleteGroupsRequest, DeleteGroupsResponse
from dray.wire.apis.list_groups import LIST_GROUPS, ListedGroup, ListGroupsRequest, ListGroupsResponse

_DEAD: Final = "Dead"
_OF_CONSUMERS: Final = "consumer"


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of a group, and what is its own."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: NamedPartitions
    """By topic; empty also if members of this kind of group share something else than partitions."""


@dataclass(frozen=True, slots=True)
class GroupState:
    """A group as its coordinator tells it."""

    group: str
    protocol: str
    """classic or consumer."""
    type: str
    """What the members are; consumers, or for example workers of Kafka Connect."""
    state: str
    assignor: str
    coordinator: int
    members: tuple[GroupMember, ...]


async def list_groups(cluster: Cluster) -> list[ListedGroup]:
    """Return all groups by name; every broker tells those that it knows."""

    async def look() -> list[ListedGroup]:
        found: dict[str, ListedGroup] = {}
        for broker in (await cluster.metadata([])).brokers:
            connection = await cluster.broker(broker.node_id)
            told = await connection.ask(LIST_GROUPS, ListGroupsRequest(), ListGroupsResponse)
            raise_for(told.error_code, f"the groups of broker {broker.node_id}")
            found |= {group.group_id: group for group in told.groups}
        return [found[name] for name in sorted(found)]

    return await cluster.retried(look)


async def find_groups(cluster: Cluster, groups: Sequence[str]) -> dict[str, GroupState]:
    """Return those of these groups that there are."""

    async def look() -> dict[str, GroupState]:
        found: dict[str, GroupState] = {}
        for broker, names in (await coordinators_of(cluster, groups)).items():
            connection = await cluster.broker(broker)
            told = await _of_consumer_protocol(connection, names, broker)
            others = [name for name in names if name not in told]
            found |= told | await _of_classic_protocol(connection, others, broker)
        return found

    return await cluster.retried(look) if groups else {}


async def delete_group(cluster: Cluster, group: str) -> None:
    """Delete a group without members, and its offsets."""

    async def delete() -> None:
        connection = await coordinator_of(cluster, group)
        request = DeleteGroupsRequest(groups_names=[group])
        for one in (await connection.ask(DELETE_GROUPS, request, DeleteGroupsResponse)).results:
            raise_for(one.error_code, f"group '{group}'", _WHY_NOT_DELETED.get(one.error_code))

    await cluster.changed(delete)


_WHY_NOT_DELETED: Final[dict[int, str]] = {
    ErrorCode.GROUP_ID_NOT_FOUND: "there is no such group",
    ErrorCode.NON_EMPTY_GROUP: "it has members; stop them first",
}


async def _of_consumer_protocol(
    connection: Connection, groups: list[str], broker: int
) -> dict[str, GroupState]:
    request = consumer.ConsumerGroupDescribeRequest(group_ids=groups)
    api = consumer.CONSUMER_GROUP_DESCRIBE
    try:
        told = (await connection.ask(api, request, consumer.ConsumerGroupDescribeResponse)).groups
    except NotServed:
        return {}
    found = {}
    for one in told:
        if one.error_code != ErrorCode.GROUP_ID_NOT_FOUND:
            raise_for(one.error_code, f"group '{one.group_id}'", one.error_message)
            found[one.group_id] = _consumer_state(one, broker)
    return found


def _consumer_state(told: consumer.DescribedGroup, broker: int) -> GroupState:
    members = tuple(
        GroupMember(
            one.member_id,
            one.instance_id,
            one.client_id,
            one.client_host,
            {part.topic_name: tuple(sorted(part.partitions)) for part in one.assignment.topic_partitions},
        )
        for one in told.members
    )
    return GroupState(
        told.group_id, "consumer", _OF_CONSUMERS, told.group_state, told.assignor_name, broker, members
    )


async def _of_classic_protocol(
    connection: Connection, groups: list[str], broker: int
) -> dict[str, GroupState]:
    if not groups:
        return {}
    request = classic.DescribeGroupsRequest(groups=groups)
    told = await connection.ask(classic.DESCRIBE_GROUPS, request, classic.DescribeGroupsResponse)
    found = {}
    for one in told.groups:
        if one.error_code != ErrorCode.GROUP_ID_NOT_FOUND and one.group_state != _DEAD:
            raise_for(one.error_code, f"group '{one.group_id}'", one.error_message)
            found[one.group_id] = _classic_state(one, broker)
    return found


def _classic_state(told: classic.DescribedGroup, broker: int) -> GroupState:
    members = tuple(
        GroupMember(
            one.member_id,
            one.group_instance_id,
            one.client_id,
            one.client_host,
            _assigned(one.member_assignment) if told.protocol_type == _OF_CONSUMERS else {},
        )
        for one in told.members
    )
    return GroupState(
        told.group_id, "classic", told.protocol_type, told.group_state, told.protocol_data, broker, members
    )


def _assigned(data: bytes) -> NamedPartitions:
    """Read what consumers say to each other; what cannot be read says nothing."""
    try:
        return decode_assignment(bytes(data)).partitions
    except Malformed:
        return {}
