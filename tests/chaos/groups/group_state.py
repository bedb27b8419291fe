"""Group state: as a broker describes it, and the broker of each member as the store records it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dray.groups.embedded import decode_assignment
from dray.groups.stored import Tombstone, decode_group
from dray.keyspace import group_domain, group_key
from dray.meta.sqlite import SqliteMetaSettings
from dray.meta.sqlite.reader import get
from dray.meta.sqlite.schema import connect_reader, disconnect
from dray.wire.apis.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from dray.wire.apis.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from tests.chaos.groups.members import Group
from tests.oracle.request_client import RequestClient

STABLE = "Stable"
_DOMAINS = 1
"""The default number, with which the cluster was created."""


@dataclass(frozen=True, slots=True)
class GroupState:
    """A group as a broker described it."""

    state: str
    owned: Mapping[str, tuple[int, ...]]
    """Partitions by client id; a client that occurs twice has two keys."""

    def is_settled(self, clients: frozenset[str], partitions: int) -> bool:
        """Whether exactly these clients own all partitions, each once."""
        owned = sorted(number for numbers in self.owned.values() for number in numbers)
        return self.state == STABLE and self.owned.keys() == clients and owned == list(range(partitions))

    def owner(self, partition: int) -> str:
        return next(client for client, numbers in self.owned.items() if partition in numbers)


def describe(client: RequestClient, group: Group) -> GroupState:
    """Describe the group on one broker; raises `Unanswered`, or `RawError` if it cannot be reached."""
    return _classic(client, group) if group.protocol == "classic" else _consumer(client, group)


def _classic(client: RequestClient, group: Group) -> GroupState:
    (described,) = client.send(DescribeGroupsRequest(groups=[group.name]), DescribeGroupsResponse).groups
    owned = [(one.client_id, _assigned(one.member_assignment, group.topic)) for one in described.members]
    return GroupState(described.group_state, _by_client(owned))


def _assigned(assignment: bytes, topic: str) -> tuple[int, ...]:
    """Return the partitions; a member has no assignment before its first generation."""
    return decode_assignment(assignment).partitions.get(topic, ()) if assignment else ()


def _consumer(client: RequestClient, group: Group) -> GroupState:
    request = ConsumerGroupDescribeRequest(group_ids=[group.name])
    (described,) = client.send(request, ConsumerGroupDescribeResponse).groups
    owned = [(one.client_id, _partitions(one.assignment)) for one in described.members]
    return GroupState(described.group_state, _by_client(owned))


def _partitions(assignment: Assignment) -> tuple[int, ...]:
    return tuple(number for topic in assignment.topic_partitions for number in topic.partitions)


def _by_client(owned: list[tuple[str, tuple[int, ...]]]) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for client, numbers in owned:
        found[client if client not in found else f"{client} again"] = numbers
    return found


def member_brokers(directory: Path, group: Group) -> dict[str, int]:
    """Return the broker of each client from the store: no API reports it."""
    db = connect_reader(directory / "metadata.sqlite", SqliteMetaSettings(), busy_ms=1_000)
    try:
        entry = get(db, group_domain(group.name, _DOMAINS), group_key(group.name))
    finally:
        disconnect(db)
    stored = None if entry is None else decode_group(entry.value)
    if stored is None or isinstance(stored, Tombstone):
        return {}
    return {member.client_id: member.broker for member in stored.members.values()}
