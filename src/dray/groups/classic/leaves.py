"""LeaveGroup: members go by themselves, or an admin takes out those that hold instance ids."""

from dray.groups.asks import Leave, Leaver
from dray.groups.classic.rebalance import rebalance
from dray.groups.classic.roster import holder, member_fault, without
from dray.groups.classic.state import ClassicGroup, Phase
from dray.groups.faults import Fault
from dray.groups.limits import GroupLimits
from dray.groups.outcome import Outcome


def leave(
    group: ClassicGroup | None, ask: Leave, limits: GroupLimits, now_ms: int
) -> Outcome[ClassicGroup | None, tuple[Fault, ...]]:
    """Take out each of the leavers that is in the group; one rebalance follows for all of them.

    As in Kafka it follows too if all of them only had been given an id. Applied again, a leave finds nobody.
    """
    if group is None:
        return Outcome(None, tuple(Fault.UNKNOWN_MEMBER_ID for _ in ask.leavers))
    rest, faults = group, list[Fault]()
    for leaver in ask.leavers:
        rest, fault = _leave(rest, leaver)
        faults.append(fault)
    if rest is not group and rest.phase is not Phase.EMPTY:
        rest = rebalance(rest, limits, now_ms)
    return Outcome(rest, tuple(faults))


def _leave(group: ClassicGroup, leaver: Leaver) -> tuple[ClassicGroup, Fault]:
    if not leaver.member_id:
        member = None if leaver.instance_id is None else holder(group, leaver.instance_id)
        if member is None:
            return group, Fault.UNKNOWN_MEMBER_ID
        return without(group, (member.member_id,)), Fault.NONE
    fault = Fault.NONE
    if leaver.member_id not in group.pending:
        fault = member_fault(group, leaver.member_id, leaver.instance_id)
    return (without(group, (leaver.member_id,)) if fault is Fault.NONE else group), fault
