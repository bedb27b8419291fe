"""How the group stands: as a broker describes it, and which broker each member belongs to."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dray.coordinators.keys import group_domain, group_key
from dray.groups.embedded import decode_assignment
from dray.groups.group import Doomed
from dray.groups.stored import decode_group
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
from tests.oracle.asking import Asker

STABLE = "Stable"
_DOMAINS = 1
"""Of a cluster that was made without saying how many."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A group as it was described."""

    state: str
    owned: Mapping[str, tuple[int, ...]]
    """Partitions by client id; a client that is there twice has a key for each time."""

    def is_settled(self, clients: frozenset[str], partitions: int) -> bool:
        """Whether these clients, and nobody else, have all partitions among them."""
        owned = sorted(number for numbers in self.owned.values() for number in numbers)
        return self.state == STABLE and self.owned.keys() == clients and owned == list(range(partitions))

    def owner(self, partition: int) -> str:
        return next(client for client, numbers in self.owned.items() if partition in numbers)


def look(asker: Asker, group: Group) -> Standing:
    """Ask one broker; raises `Unanswered`, and `RawError` if it cannot be reached."""
    return _classic(asker, group) if group.protocol == "classic" else _consumer(asker, group)


def _classic(asker: Asker, group: Group) -> Standing:
    (told,) = asker.ask(DescribeGroupsRequest(groups=[group.name]), DescribeGroupsResponse).groups
    owned = [(one.client_id, _assigned(one.member_assignment, group.topic)) for one in told.members]
    return Standing(told.group_state, _by_client(owned))


def _assigned(assignment: bytes, topic: str) -> tuple[int, ...]:
    """A member has none before it was in a generation."""
    return decode_assignment(assignment).partitions.get(topic, ()) if assignment else ()


def _consumer(asker: Asker, group: Group) -> Standing:
    request = ConsumerGroupDescribeRequest(group_ids=[group.name])
    (told,) = asker.ask(request, ConsumerGroupDescribeResponse).groups
    owned = [(one.client_id, _shown(one.assignment)) for one in told.members]
    return Standing(told.group_state, _by_client(owned))


def _shown(assignment: Assignment) -> tuple[int, ...]:
    return tuple(number for topic in assignment.topic_partitions for number in topic.partitions)


def _by_client(owned: list[tuple[str, tuple[int, ...]]]) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for client, numbers in owned:
        found[client if client not in found else f"{client} again"] = numbers
    return found


def attachments(directory: Path, group: Group) -> dict[str, int]:
    """Which broker each client belongs to, from the store: no API tells."""
    db = connect_reader(directory / "metadata.sqlite", SqliteMetaSettings(), busy_ms=1_000)
    try:
        entry = get(db, group_domain(group.name, _DOMAINS), group_key(group.name))
    finally:
        disconnect(db)
    stored = None if entry is None else decode_group(entry.value)
    if stored is None or isinstance(stored, Doomed):
        return {}
    return {member.client_id: member.broker for member in stored.members.values()}
