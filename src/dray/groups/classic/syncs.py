"""SyncGroup: the leader brings the assignment, everybody fetches its own."""

from typing import TypeAlias

from msgspec.structs import replace

from dray.groups.asks import Sync
from dray.groups.classic.roster import attached, member_fault, put
from dray.groups.classic.settling import settle_sync
from dray.groups.classic.state import ClassicGroup, Phase
from dray.groups.faults import Fault
from dray.groups.limits import GroupLimits
from dray.groups.outcome import Outcome, Parked
from dray.groups.replies import Synced

SyncOutcome: TypeAlias = Outcome[ClassicGroup | None, Synced | Parked]


def sync(
    group: ClassicGroup | None,
    ask: Sync,
    limits: GroupLimits,  # noqa: ARG001 - all asks are called alike
    now_ms: int,
) -> SyncOutcome:
    """Store the assignment if the leader asks, and answer once there is one."""
    fault = _fault(group, ask)
    if group is None or fault is not Fault.NONE:
        return Outcome(group, Synced(fault))
    member = group.members[ask.member_id]
    group = put(group, replace(attached(member, ask.broker), synced=True))
    if group.phase is Phase.COMPLETING and group.leader == ask.member_id:
        group = _assigned(group, dict(ask.assignments), now_ms)
    parked = Parked(ask.member_id, member.instance_id, group.generation)
    return Outcome(group, settle_sync(group, parked) or parked)


def _assigned(group: ClassicGroup, assignments: dict[str, bytes], now_ms: int) -> ClassicGroup:
    """A member that the leader forgot gets nothing."""
    return replace(
        group,
        phase=Phase.STABLE,
        members={
            key: replace(member, assignment=assignments.get(key, b""))
            for key, member in group.members.items()
        },
        changed_at_ms=now_ms,
    )


def _fault(group: ClassicGroup | None, ask: Sync) -> Fault:
    if ask.names_protocol and (ask.protocol_type is None or ask.protocol is None):
        return Fault.INCONSISTENT_GROUP_PROTOCOL
    if group is None:
        return Fault.UNKNOWN_MEMBER_ID
    fault = member_fault(group, ask.member_id, ask.instance_id)
    if fault is not Fault.NONE:
        return fault
    if ask.generation != group.generation:
        return Fault.ILLEGAL_GENERATION
    if _differs(ask.protocol_type, group.protocol_type) or _differs(ask.protocol, group.protocol):
        return Fault.INCONSISTENT_GROUP_PROTOCOL
    return Fault.REBALANCE_IN_PROGRESS if group.phase is Phase.PREPARING else Fault.NONE


def _differs(said: str | None, known: str | None) -> bool:
    return said is not None and known is not None and said != known
