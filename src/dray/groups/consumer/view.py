"""A group as admins see it: ConsumerGroupDescribe, ListGroups, DeleteGroups, OffsetDelete."""

from dataclasses import dataclass

from dray.groups.asks import Partitions
from dray.groups.consumer.held import merged, partitions_in
from dray.groups.consumer.state import ConsumerGroup, ConsumerMember, is_settled
from dray.groups.consumer.targets import preferred_assignor
from dray.groups.faults import Fault


@dataclass(frozen=True, slots=True)
class ShownConsumer:
    """A member as it is shown. What it was told to give up still counts as its own."""

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
class ShownConsumerGroup:
    """A group as it is shown; topics by their ids."""

    state: str
    epoch: int
    assignment_epoch: int
    assignor: str
    members: tuple[ShownConsumer, ...]


def show(group: ConsumerGroup) -> ShownConsumerGroup:
    """The group as it is described."""
    members = tuple(_shown(group, member_id, member) for member_id, member in group.members.items())
    return ShownConsumerGroup(
        state_name(group), group.epoch, group.target_epoch, preferred_assignor(group), members
    )


def state_name(group: ConsumerGroup) -> str:
    """How it stands with the group, in Kafka's words."""
    if not group.members:
        return "Empty"
    if group.epoch > group.target_epoch:
        return "Assigning"
    settled = all(is_settled(group, member) for member in group.members.values())
    return "Stable" if settled else "Reconciling"


def is_empty(group: ConsumerGroup) -> bool:
    """Whether nobody is in it; static members who left for now still are."""
    return not group.members


def delete_fault(group: ConsumerGroup) -> Fault:
    """Whether the group may not be deleted."""
    return Fault.NONE if is_empty(group) else Fault.NON_EMPTY_GROUP


def _shown(group: ConsumerGroup, member_id: str, member: ConsumerMember) -> ShownConsumer:
    return ShownConsumer(
        member_id,
        member.instance_id,
        member.rack_id,
        member.epoch,
        member.client_id,
        member.client_host,
        member.names,
        member.regex,
        partitions_in(merged(member.assigned, member.revoking)),
        group.targets.get(member_id, {}),
        member.classic is not None,
    )
