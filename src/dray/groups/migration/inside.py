"""Classic members inside a group of the consumer protocol: how they are found, sync, beat and leave.

Such a member's generation is its epoch. Nobody waits for anybody: every ask is answered at once, and the
member is led to its target by being told to join again for each step.
"""

from typing import Final, NamedTuple

from msgspec.structs import replace

from dray.groups.asks import Beat, Leave, Leaver, Sync
from dray.groups.classic.subscription import CONSUMER_TYPE
from dray.groups.consumer import ClassicSide, ConsumerGroup, ConsumerMember, Progress
from dray.groups.consumer.checks import Refused
from dray.groups.consumer.departure import removed
from dray.groups.consumer.held import partitions_in
from dray.groups.consumer.members import kept
from dray.groups.consumer.reconcile import is_kept_waiting
from dray.groups.consumer.state import static_id
from dray.groups.faults import Fault
from dray.groups.group import Group
from dray.groups.limits import GroupLimits
from dray.groups.migration.assignments import assignment_bytes
from dray.groups.migration.downgrade import after_departure
from dray.groups.outcome import Outcome, Parked
from dray.groups.replies import Joined, Synced

_JOIN_AGAIN: Final = Synced(Fault.REBALANCE_IN_PROGRESS)


class _Insider(NamedTuple):
    """A classic member, with both of its sides."""

    member: ConsumerMember
    side: ClassicSide


def sync(group: ConsumerGroup, ask: Sync) -> Outcome[ConsumerGroup, Synced]:
    """Tell a classic member what it may read now."""
    try:
        insider = _syncing(group, ask)
    except Refused as refused:
        return Outcome(group, Synced(refused.fault))
    member, side = insider
    # One that has to give up partitions has joined already; it is told to join again once it has done so.
    if member.epoch < group.target_epoch and member.progress is not Progress.UNREVOKED:
        return Outcome(_called(group, ask.member_id, insider, ask.broker, must_join=True), _JOIN_AGAIN)
    assignment = assignment_bytes(partitions_in(member.assigned), group.topics, side.protocols[0][1])
    return Outcome(
        _called(group, ask.member_id, insider, ask.broker, must_sync=False),
        Synced(Fault.NONE, ask.protocol_type, ask.protocol, assignment),
    )


def beat(group: ConsumerGroup, ask: Beat) -> Outcome[ConsumerGroup, Fault]:
    """Say that a classic member is there. It is told to join again if that brings it any further."""
    try:
        insider = _found(group, ask.member_id, ask.instance_id, ask.generation)
    except Refused as refused:
        return Outcome(group, refused.fault)
    if _may_go_on(group, ask.member_id, insider.member):
        called = _called(group, ask.member_id, insider, ask.broker, must_join=True)
        return Outcome(called, Fault.REBALANCE_IN_PROGRESS)
    return Outcome(_called(group, ask.member_id, insider, ask.broker), Fault.NONE)


def leave(
    group: ConsumerGroup, ask: Leave, limits: GroupLimits, now_ms: int
) -> Outcome[Group, tuple[Fault, ...]]:
    """Take out each of the leavers that is in the group, of either protocol; admins may name any."""
    faults, leaving = list[Fault](), set[str]()
    for leaver in ask.leavers:
        try:
            leaving.add(_leaving(group, leaver))
            faults.append(Fault.NONE)
        except Refused as refused:
            faults.append(refused.fault)
    rest = removed(group, leaving, now_ms)
    return Outcome(after_departure(group, rest, limits, now_ms), tuple(faults))


def settle(group: ConsumerGroup, parked: Parked) -> Joined | Synced:
    """What to answer to a join or sync that waited in a classic group when it changed over: to join again."""
    fault = member_fault(group, parked.member_id, parked.instance_id)
    told = Fault.REBALANCE_IN_PROGRESS if fault is Fault.NONE else fault
    return Joined(told, parked.member_id) if parked.sync_of is None else Synced(told)


def member_fault(group: ConsumerGroup, member_id: str, instance_id: str | None) -> Fault:
    """Whether somebody is the member it says."""
    member = group.members.get(member_id)
    if instance_id is not None and (member is None or member.instance_id != instance_id):
        return Fault.UNKNOWN_MEMBER_ID if static_id(group, instance_id) is None else Fault.FENCED_INSTANCE_ID
    return Fault.UNKNOWN_MEMBER_ID if member is None else Fault.NONE


def _found(group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int) -> _Insider:
    fault = member_fault(group, member_id, instance_id)
    if fault is not Fault.NONE:
        raise Refused(fault)
    member = group.members[member_id]
    if member.classic is None:
        raise Refused(Fault.UNKNOWN_MEMBER_ID)
    if generation != member.epoch:
        raise Refused(Fault.ILLEGAL_GENERATION)
    return _Insider(member, member.classic)


def _syncing(group: ConsumerGroup, ask: Sync) -> _Insider:
    if ask.names_protocol and (ask.protocol_type is None or ask.protocol is None):
        raise Refused(Fault.INCONSISTENT_GROUP_PROTOCOL)
    insider = _found(group, ask.member_id, ask.instance_id, ask.generation)
    protocol = insider.side.protocols[0][0]
    if ask.protocol_type not in {None, CONSUMER_TYPE} or ask.protocol not in {None, protocol}:
        raise Refused(Fault.INCONSISTENT_GROUP_PROTOCOL)
    return insider


def _may_go_on(group: ConsumerGroup, member_id: str, member: ConsumerMember) -> bool:
    """Whether a join would lead the member further: to the target, to give up partitions, or to take some."""
    if member.progress is Progress.UNRELEASED and member.epoch == group.target_epoch:
        return not is_kept_waiting(group, member_id, member)
    return member.epoch < group.target_epoch or member.progress is Progress.UNREVOKED


def _called(
    group: ConsumerGroup, member_id: str, insider: _Insider, broker: int, **news: bool
) -> ConsumerGroup:
    """The group after a member has called a broker; the very same if nothing is new."""
    member, side = insider
    if broker == member.broker and all(getattr(side, name) is value for name, value in news.items()):
        return group
    return kept(group, member_id, replace(member, classic=replace(side, **news), broker=broker))


def _leaving(group: ConsumerGroup, leaver: Leaver) -> str:
    """The id of the member that leaves; one without an id is named by an admin."""
    holder = None if leaver.instance_id is None else static_id(group, leaver.instance_id)
    if not leaver.member_id and holder is not None:
        return holder
    fault = member_fault(group, leaver.member_id, leaver.instance_id)
    if fault is not Fault.NONE:
        raise Refused(fault)
    return leaver.member_id
