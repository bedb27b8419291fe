"""Admin view of a classic group: DescribeGroups, ListGroups, DeleteGroups, OffsetDelete."""

from dataclasses import dataclass

from dray.groups.classic.protocols import CONSUMER_TYPE, metadata
from dray.groups.classic.state import ClassicGroup, Phase
from dray.groups.types import GroupError


@dataclass(frozen=True, slots=True)
class MemberDescription:
    """A member as DescribeGroups returns it."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A group as DescribeGroups returns it."""

    state: str
    protocol_type: str
    protocol: str
    members: tuple[MemberDescription, ...]


def describe(group: ClassicGroup) -> GroupDescription:
    """Return the description of a group, with protocol and metadata only while the group is stable."""
    protocol = group.protocol if group.phase is Phase.STABLE else None
    members = tuple(
        MemberDescription(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            metadata(member, protocol),
            member.assignment,
        )
        for member in group.members.values()
    )
    return GroupDescription(state_name(group), group.protocol_type or "", protocol or "", members)


def state_name(group: ClassicGroup) -> str:
    return group.phase.value


def is_empty(group: ClassicGroup) -> bool:
    """Return whether the group has no members. Clients that were assigned an id may be about to join."""
    return group.phase is Phase.EMPTY


def is_simple(group: ClassicGroup) -> bool:
    """Return whether the group was only ever used to commit offsets."""
    return group.protocol_type is None and is_empty(group) and not group.pending_members


def delete_error(group: ClassicGroup) -> GroupError:
    """Return the error of a deletion; `NONE` if allowed."""
    return GroupError.NONE if is_empty(group) else GroupError.NON_EMPTY_GROUP


def offset_delete_error(group: ClassicGroup) -> GroupError:
    """Return the error of a deletion of offsets; `NONE` if allowed.

    Offsets of subscribed topics may never be deleted (see `is_subscribed`).
    """
    if is_empty(group) or group.protocol_type == CONSUMER_TYPE:
        return GroupError.NONE
    return GroupError.NON_EMPTY_GROUP
