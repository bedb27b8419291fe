"""Admin view of a consumer group: ConsumerGroupDescribe, ListGroups, DeleteGroups, OffsetDelete."""

from dataclasses import dataclass

from dray.groups.commands import Partitions
from dray.groups.consumer.state import ConsumerGroup, ConsumerMember, is_reconciled, merge, partitions_of
from dray.groups.consumer.target_assignment import preferred_assignor
from dray.groups.types import GroupError


@dataclass(frozen=True, slots=True)
class ConsumerMemberDescription:
    """A member as ConsumerGroupDescribe returns it. Partitions it is revoking still count as assigned."""

    member_id: str
    instance_id: str | None
    rack_id: str | None
    epoch: int
    client_id: str
    client_host: str
    names: tuple[str, ...]
    regex: str
    assigned: Partitions
    target: Partitions
    is_classic: bool


@dataclass(frozen=True, slots=True)
class ConsumerGroupDescription:
    """A group as ConsumerGroupDescribe returns it; topics by id."""

    state: str
    epoch: int
    assignment_epoch: int
    assignor: str
    members: tuple[ConsumerMemberDescription, ...]


def describe(group: ConsumerGroup) -> ConsumerGroupDescription:
    """Return the description of a group."""
    members = tuple(_describe_member(group, member_id, member) for member_id, member in group.members.items())
    return ConsumerGroupDescription(
        state_name(group), group.epoch, group.target_epoch, preferred_assignor(group), members
    )


def state_name(group: ConsumerGroup) -> str:
    """Return the state of the group, under Kafka's names."""
    if not group.members:
        return "Empty"
    if group.epoch > group.target_epoch:
        return "Assigning"
    reconciled = all(is_reconciled(group, member) for member in group.members.values())
    return "Stable" if reconciled else "Reconciling"


def is_empty(group: ConsumerGroup) -> bool:
    """Return whether the group has no members; static members that left temporarily still count."""
    return not group.members


def delete_error(group: ConsumerGroup) -> GroupError:
    """Return the error of a deletion; `NONE` if allowed."""
    return GroupError.NONE if is_empty(group) else GroupError.NON_EMPTY_GROUP


def _describe_member(
    group: ConsumerGroup, member_id: str, member: ConsumerMember
) -> ConsumerMemberDescription:
    return ConsumerMemberDescription(
        member_id,
        member.instance_id,
        member.rack_id,
        member.epoch,
        member.client_id,
        member.client_host,
        member.names,
        member.regex,
        partitions_of(merge(member.assigned, member.revoking)),
        group.targets.get(member_id, {}),
        member.classic is not None,
    )
