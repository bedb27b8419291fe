"""How many groups and members there are, and how often groups rebalance.

A group is counted again when something about it has changed: what it was counted as is taken back, and what
it is now is added. So the groups are never counted through, however many there are.

A rebalance is seen by what it leaves behind, a higher generation or a higher epoch of the assignment. Several
of them that are over before the group is looked at again are seen as one.
"""

from typing import NamedTuple

from dray.coordinators.metrics import GroupMetrics
from dray.groups import machine
from dray.groups.classic import ClassicGroup
from dray.groups.consumer.state import FIRST_EPOCH
from dray.groups.group import Group


class _Standing(NamedTuple):
    """A group as it was counted."""

    protocol: str
    state: str
    members: int
    turn: int
    """Grows with every rebalance; 0 before the first."""
    ours: bool


class Census:
    """Keeps the instruments up to date."""

    def __init__(self, metrics: GroupMetrics) -> None:
        self._metrics = metrics
        self._standings: dict[str, _Standing] = {}
        self._groups: dict[tuple[str, str], int] = {}
        self._members: dict[str, int] = {}

    def met(self, group_id: str, group: Group) -> None:
        """Take note of a group that was there before this broker: its last rebalance is not counted."""
        self._standings[group_id] = _standing(group, ours=False)

    def look(self, group_id: str, group: Group | None, *, ours: bool) -> None:
        """Count a group as it is now; `ours` says whether this broker looks after it."""
        before = self._standings.pop(group_id, None)
        now = None if group is None else _standing(group, ours=ours)
        if now is not None:
            self._standings[group_id] = now
        if before == now:
            return
        if before is not None and before.ours:
            self._add(before, -1)
        if now is not None and now.ours:
            self._add(now, 1)
            if _rebalanced(before, now):
                self._metrics.rebalances.labels(now.protocol).inc()

    def _add(self, standing: _Standing, sign: int) -> None:
        protocol, place = standing.protocol, (standing.protocol, standing.state)
        self._groups[place] = self._groups.get(place, 0) + sign
        self._members[protocol] = self._members.get(protocol, 0) + sign * standing.members
        self._metrics.groups.labels(*place).set(self._groups[place])
        self._metrics.members.labels(protocol).set(self._members[protocol])


def _standing(group: Group, *, ours: bool) -> _Standing:
    turn = group.generation if isinstance(group, ClassicGroup) else group.target_epoch - FIRST_EPOCH
    return _Standing(machine.kind(group), machine.state_name(group), len(group.members), turn, ours)


def _rebalanced(before: _Standing | None, now: _Standing) -> bool:
    if before is None or before.protocol != now.protocol:
        return now.turn > 0
    return now.turn > before.turn
