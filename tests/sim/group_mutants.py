"""Groups that break one rule each: what the simulation of groups must find."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from dray.coordinators.alarms import Alarms
from dray.coordinators.desk import Desk
from dray.coordinators.group_store import GroupStore, Known
from dray.coordinators.keys import group_domain, group_key
from dray.groups import machine
from dray.groups.consumer import reconcile
from dray.groups.group import Doomed, Group
from dray.groups.outcome import Timer, TimerKind
from dray.groups.stored import encode_group
from dray.meta.port import Put, Version, Versions, Write

Mutate = Callable[[pytest.MonkeyPatch], None]


def write_without_checking(patch: pytest.MonkeyPatch) -> None:
    async def write(
        self: GroupStore, group_id: str, version: Version, group: Group | Doomed, writes: Sequence[Write]
    ) -> Known:
        key = group_key(group_id)
        put = Put(key, encode_group(group))
        result = await self._meta.commit(group_domain(group_id, self._domains), [], [put, *writes])
        assert isinstance(result, Versions)
        assert not isinstance(group, Doomed)
        return Known(group, result.of[0])

    patch.setattr(GroupStore, "write", write)


def commit_offsets_without_checking(patch: pytest.MonkeyPatch) -> None:
    async def write_beside(self: GroupStore, group_id: str, _: Version, writes: Sequence[Write]) -> bool:
        await self._meta.commit(group_domain(group_id, self._domains), [], writes)
        return True

    patch.setattr(GroupStore, "write_beside", write_beside)


def give_out_what_others_hold(patch: pytest.MonkeyPatch) -> None:
    def held_by_others(*_: object) -> dict[bytes, set[int]]:
        return {}

    patch.setattr(reconcile, "_held_by_others", held_by_others)


def do_not_wait_for_revocation(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reconcile, "_owns", lambda *_: False)


def leave_members_of_dead_brokers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(machine, "adopt", lambda group, *_: group)


def hear_of_no_changes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Desk, "noticed", lambda *_: None)


def run_no_timers_of_the_group(patch: pytest.MonkeyPatch) -> None:
    def follow(self: Alarms, asked: Any) -> None:
        original(self, [one for one in asked if one.broker is not None])

    original = Alarms.follow
    patch.setattr(Alarms, "follow", follow)


def end_sessions_early(patch: pytest.MonkeyPatch) -> None:
    def set_sooner(self: Alarms, timer: Timer, seconds: float) -> None:
        original(self, timer, seconds / 3 if timer.kind is TimerKind.SESSION else seconds)

    original = Alarms._set
    patch.setattr(Alarms, "_set", set_sooner)


MUTANTS: dict[Mutate, tuple[str, ...]] = {
    write_without_checking: ("G1", "G2", "G3", "G4"),
    commit_offsets_without_checking: ("G2",),
    give_out_what_others_hold: ("G1", "G4"),
    do_not_wait_for_revocation: ("G1",),
    leave_members_of_dead_brokers: ("G5",),
    hear_of_no_changes: ("G5",),
    run_no_timers_of_the_group: ("G5",),
    end_sessions_early: ("G1",),
}
"""Each mutant, and the rules of which it breaks at least one."""
