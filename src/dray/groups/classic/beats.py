"""Heartbeat. What a quiet member does all day: it looks at one member, and changes nothing."""

from dray.groups.asks import Beat
from dray.groups.classic.roster import attach, member_fault
from dray.groups.classic.state import ClassicGroup, Phase
from dray.groups.faults import Fault
from dray.groups.outcome import Outcome


def beat(group: ClassicGroup | None, ask: Beat) -> Outcome[ClassicGroup | None, Fault]:
    """Say that a member is there. It is told of a rebalance, and stays a member meanwhile."""
    if group is None:
        return Outcome(None, Fault.UNKNOWN_MEMBER_ID)
    fault = member_fault(group, ask.member_id, ask.instance_id)
    if fault is not Fault.NONE:
        return Outcome(group, fault)
    if ask.generation != group.generation:
        return Outcome(group, Fault.ILLEGAL_GENERATION)
    told = Fault.REBALANCE_IN_PROGRESS if group.phase is Phase.PREPARING else Fault.NONE
    return Outcome(attach(group, ask.member_id, ask.broker), told)
