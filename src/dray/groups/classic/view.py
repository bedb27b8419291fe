"""A group as admins see it: DescribeGroups, ListGroups, DeleteGroups, OffsetDelete."""

from dataclasses import dataclass

from dray.groups.classic.protocols import metadata
from dray.groups.classic.state import ClassicGroup, Phase
from dray.groups.classic.subscription import CONSUMER_TYPE
from dray.groups.faults import Fault


@dataclass(frozen=True, slots=True)
class ShownMember:
    """A member as it is shown."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True)
class ShownGroup:
    """A group as it is shown."""

    state: str
    protocol_type: str
    protocol: str
    members: tuple[ShownMember, ...]


def show(group: ClassicGroup) -> ShownGroup:
    """The group as it is described. Protocol and metadata are shown only while they are settled."""
    protocol = group.protocol if group.phase is Phase.STABLE else None
    members = tuple(
        ShownMember(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            metadata(member, protocol),
            member.assignment,
        )
        for member in group.members.values()
    )
    return ShownGroup(state_name(group), group.protocol_type or "", protocol or "", members)


def state_name(group: ClassicGroup) -> str:
    return group.phase.value


def is_empty(group: ClassicGroup) -> bool:
    """Whether nobody is in it. Somebody may have been given an id, and be about to come back."""
    return group.phase is Phase.EMPTY


def is_simple(group: ClassicGroup) -> bool:
    """Whether it was only ever used to commit offsets."""
    return group.protocol_type is None and is_empty(group) and not group.pending


def delete_fault(group: ClassicGroup) -> Fault:
    """Whether the group may not be deleted."""
    return Fault.NONE if is_empty(group) else Fault.NON_EMPTY_GROUP


def offset_delete_fault(group: ClassicGroup) -> Fault:
    """Whether no offset may be deleted. Those of topics that consumers read never may (`is_subscribed`)."""
    if is_empty(group) or group.protocol_type == CONSUMER_TYPE:
        return Fault.NONE
    return Fault.NON_EMPTY_GROUP
