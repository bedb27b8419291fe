"""Validation of consumer group heartbeats, in Kafka's order and with Kafka's messages."""

from typing import Final

from dray.groups.commands import ConsumerHeartbeat, Partitions
from dray.groups.consumer.state import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerGroup,
    ConsumerMember,
    PartitionEpochs,
    static_member_id,
)
from dray.groups.consumer.target_assignment import ASSIGNORS
from dray.groups.limits import GroupLimits
from dray.groups.types import GroupError

_BLANKS: Final = "".join(map(chr, range(ord(" ") + 1)))
"""The characters that Java's `trim` removes."""


class Rejected(Exception):
    """The command is answered with an error and changes nothing."""

    def __init__(self, error: GroupError, message: str = "") -> None:
        super().__init__(message)
        self.error = error
        self.message = message


def check_request(command: ConsumerHeartbeat) -> None:
    """Check the request by itself; raises `Rejected`."""
    if not command.new_member_id or command.epoch > JOIN_EPOCH or command.epoch == LEAVE_EPOCH:
        _check_not_blank(command.member_id, "MemberId")
    _check_not_blank(command.group_id, "GroupId")
    _check_not_blank(command.instance_id, "InstanceId")
    _check_not_blank(command.rack_id, "RackId")
    if command.epoch == JOIN_EPOCH:
        _check_join(command)
    elif command.epoch == STATIC_LEAVE_EPOCH and command.instance_id is None:
        raise Rejected(GroupError.INVALID_REQUEST, "InstanceId can't be null.")
    elif command.epoch < STATIC_LEAVE_EPOCH:
        raise Rejected(GroupError.INVALID_REQUEST, "MemberEpoch is invalid.")
    if command.assignor is not None and command.assignor not in ASSIGNORS:
        raise Rejected(
            GroupError.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {command.assignor} is not supported. "
            f"Supported assignors: {', '.join(ASSIGNORS)}.",
        )


def _check_not_blank(value: str | None, name: str) -> None:
    if value is not None and not value.strip(_BLANKS):
        raise Rejected(GroupError.INVALID_REQUEST, f"{name} can't be empty.")


def _check_join(command: ConsumerHeartbeat) -> None:
    if command.rebalance_timeout_ms is None:
        raise Rejected(GroupError.INVALID_REQUEST, "RebalanceTimeoutMs must be provided in first request.")
    if command.owned is None or command.owned:
        raise Rejected(GroupError.INVALID_REQUEST, "TopicPartitions must be empty when (re-)joining.")
    if command.names is None and command.regex is None:
        raise Rejected(
            GroupError.INVALID_REQUEST,
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        )


def check_capacity(group: ConsumerGroup, command: ConsumerHeartbeat, limits: GroupLimits) -> None:
    """Check the size limit; existing members and replacements of static members pass. Raises `Rejected`."""
    if len(group.members) < limits.consumer_group_max_size or command.member_id in group.members:
        return
    if command.instance_id is None or static_member_id(group, command.instance_id) is None:
        raise Rejected(
            GroupError.GROUP_MAX_SIZE_REACHED,
            "The consumer group has reached its maximum capacity of "
            f"{limits.consumer_group_max_size} members.",
        )


def check_epoch(member: ConsumerMember, command: ConsumerHeartbeat) -> None:
    """Check the member epoch; raises `Rejected`.

    The previous epoch is accepted if the member owns only what it is assigned: then its last reply was lost.
    """
    if command.epoch in {member.epoch, JOIN_EPOCH}:
        return
    if command.epoch > member.epoch:
        raise _fenced("greater", member, command)
    if command.epoch != member.previous_epoch or not _owns_only(command.owned, member.assigned):
        raise _fenced("smaller", member, command)


def _fenced(compared: str, member: ConsumerMember, command: ConsumerHeartbeat) -> Rejected:
    return Rejected(
        GroupError.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {compared} member epoch ({command.epoch}) than the one known by "
        f"the group coordinator ({member.epoch}). The member must abandon all its partitions and rejoin.",
    )


def _owns_only(owned: Partitions | None, assigned: PartitionEpochs) -> bool:
    if owned is None:
        return False
    return all(assigned.get(topic_id, {}).keys() >= set(numbers) for topic_id, numbers in owned.items())


def unknown_member(command: ConsumerHeartbeat) -> Rejected:
    return Rejected(
        GroupError.UNKNOWN_MEMBER_ID,
        f"Member {command.member_id} is not a member of group {command.group_id}.",
    )


def unknown_instance(command: ConsumerHeartbeat) -> Rejected:
    return Rejected(GroupError.UNKNOWN_MEMBER_ID, f"Instance id {command.instance_id} is unknown.")


def fenced_instance(command: ConsumerHeartbeat, holder: str) -> Rejected:
    return Rejected(
        GroupError.FENCED_INSTANCE_ID,
        f"Static member {command.member_id} with instance id {command.instance_id} was fenced "
        f"by member {holder}.",
    )


def unreleased_instance(command: ConsumerHeartbeat, holder: str) -> Rejected:
    return Rejected(
        GroupError.UNRELEASED_INSTANCE_ID,
        f"Static member {command.member_id} with instance id {command.instance_id} cannot join the group "
        f"because the instance id is owned by {holder} member.",
    )
