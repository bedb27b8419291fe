"""OffsetCommit, as far as it concerns the group: who may commit, and that it keeps the session alive.

The offsets themselves are not part of the group.
"""

from dray.groups.asks import Committer
from dray.groups.classic.roster import attach, member_fault
from dray.groups.classic.state import ClassicGroup, Phase
from dray.groups.faults import Fault


def commit_fault(group: ClassicGroup | None, committer: Committer) -> Fault:
    """Whether a commit is refused.

    If there is no group and nothing is wrong, the commit is to make a `simple` one.
    """
    if group is None:
        return _fault_without_group(committer)
    if committer.epoch < 0 and group.phase is Phase.EMPTY:
        return Fault.NONE
    if committer.epoch < 0 and not committer.member_id and committer.instance_id is None:
        return Fault.UNKNOWN_MEMBER_ID
    fault = member_fault(group, committer.member_id, committer.instance_id)
    if fault is not Fault.NONE:
        return fault
    if committer.epoch != group.generation:
        return Fault.ILLEGAL_GENERATION
    return Fault.REBALANCE_IN_PROGRESS if group.phase is Phase.COMPLETING else Fault.NONE


def commits(group: ClassicGroup, committer: Committer) -> ClassicGroup:
    """The group after a commit that is not refused: its member belongs to the broker it came to."""
    if committer.member_id not in group.members or commit_fault(group, committer) is not Fault.NONE:
        return group
    return attach(group, committer.member_id, committer.broker)


def _fault_without_group(committer: Committer) -> Fault:
    if committer.epoch < 0:
        return Fault.NONE
    return Fault.GROUP_ID_NOT_FOUND if committer.knows_epochs else Fault.ILLEGAL_GENERATION
