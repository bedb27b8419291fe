"""Why a heartbeat is refused, in Kafka's order and Kafka's words: clients show them to people."""

from typing import Final

from dray.groups.asks import ConsumerBeat, Partitions
from dray.groups.assignors import ASSIGNORS
from dray.groups.consumer.state import (
    JOINS,
    LEAVES,
    LEAVES_FOR_NOW,
    ConsumerGroup,
    ConsumerMember,
    Held,
    static_id,
)
from dray.groups.faults import Fault
from dray.groups.limits import GroupLimits

_BLANKS: Final = "".join(map(chr, range(ord(" ") + 1)))
"""What Java's `trim` takes away."""


class Refused(Exception):
    """The ask is answered with a fault and changes nothing."""

    def __init__(self, fault: Fault, message: str = "") -> None:
        super().__init__(message)
        self.fault = fault
        self.message = message


def check_request(ask: ConsumerBeat) -> None:
    """What can be told from the request alone."""
    if not ask.new_id or ask.epoch > JOINS or ask.epoch == LEAVES:
        _check_not_blank(ask.member_id, "MemberId")
    _check_not_blank(ask.group_id, "GroupId")
    _check_not_blank(ask.instance_id, "InstanceId")
    _check_not_blank(ask.rack_id, "RackId")
    if ask.epoch == JOINS:
        _check_join(ask)
    elif ask.epoch == LEAVES_FOR_NOW and ask.instance_id is None:
        raise Refused(Fault.INVALID_REQUEST, "InstanceId can't be null.")
    elif ask.epoch < LEAVES_FOR_NOW:
        raise Refused(Fault.INVALID_REQUEST, "MemberEpoch is invalid.")
    if ask.assignor is not None and ask.assignor not in ASSIGNORS:
        raise Refused(
            Fault.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {ask.assignor} is not supported. Supported assignors: {', '.join(ASSIGNORS)}.",
        )


def _check_not_blank(value: str | None, name: str) -> None:
    if value is not None and not value.strip(_BLANKS):
        raise Refused(Fault.INVALID_REQUEST, f"{name} can't be empty.")


def _check_join(ask: ConsumerBeat) -> None:
    if ask.rebalance_timeout_ms is None:
        raise Refused(Fault.INVALID_REQUEST, "RebalanceTimeoutMs must be provided in first request.")
    if ask.owned is None or ask.owned:
        raise Refused(Fault.INVALID_REQUEST, "TopicPartitions must be empty when (re-)joining.")
    if ask.names is None and ask.regex is None:
        raise Refused(
            Fault.INVALID_REQUEST,
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        )


def check_room(group: ConsumerGroup, ask: ConsumerBeat, limits: GroupLimits) -> None:
    """Whether one more fits in. Who is in already stays, and so does who takes the place of another."""
    if len(group.members) < limits.consumer_max_size or ask.member_id in group.members:
        return
    if ask.instance_id is None or static_id(group, ask.instance_id) is None:
        raise Refused(
            Fault.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {limits.consumer_max_size} members.",
        )


def check_epoch(member: ConsumerMember, ask: ConsumerBeat) -> None:
    """A member that lags one epoch behind is let in if it owns only what it may: the answer was lost."""
    if ask.epoch in {member.epoch, JOINS}:
        return
    if ask.epoch > member.epoch:
        raise _fenced("greater", member, ask)
    if ask.epoch != member.previous_epoch or not _owns_only(ask.owned, member.assigned):
        raise _fenced("smaller", member, ask)


def _fenced(compared: str, member: ConsumerMember, ask: ConsumerBeat) -> Refused:
    return Refused(
        Fault.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {compared} member epoch ({ask.epoch}) than the one known by the "
        f"group coordinator ({member.epoch}). The member must abandon all its partitions and rejoin.",
    )


def _owns_only(owned: Partitions | None, assigned: Held) -> bool:
    if owned is None:
        return False
    return all(assigned.get(topic_id, {}).keys() >= set(numbers) for topic_id, numbers in owned.items())


def unknown_member(ask: ConsumerBeat) -> Refused:
    return Refused(
        Fault.UNKNOWN_MEMBER_ID, f"Member {ask.member_id} is not a member of group {ask.group_id}."
    )


def unknown_instance(ask: ConsumerBeat) -> Refused:
    return Refused(Fault.UNKNOWN_MEMBER_ID, f"Instance id {ask.instance_id} is unknown.")


def fenced_instance(ask: ConsumerBeat, holder: str) -> Refused:
    return Refused(
        Fault.FENCED_INSTANCE_ID,
        f"Static member {ask.member_id} with instance id {ask.instance_id} was fenced by member {holder}.",
    )


def unreleased_instance(ask: ConsumerBeat, holder: str) -> Refused:
    return Refused(
        Fault.UNRELEASED_INSTANCE_ID,
        f"Static member {ask.member_id} with instance id {ask.instance_id} cannot join the group because the "
        f"instance id is owned by {holder} member.",
    )
