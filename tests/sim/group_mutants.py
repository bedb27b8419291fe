"""Mutants of group hosting, each of which breaks a rule that the simulation of groups must detect."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from dray.coordinators import group_store
from dray.coordinators.group_store import GroupStore, VersionedGroup
from dray.coordinators.group_timers import GroupTimers
from dray.coordinators.shard import GroupShard
from dray.groups import machine
from dray.groups.consumer import reconcile
from dray.groups.results import OffsetChanges
from dray.groups.stored import Group, Tombstone, encode_group
from dray.groups.timers import Timer, TimerKind, TimerSpec
from dray.keyspace import group_domain, group_key
from dray.meta.port import Put, Version, Versions

Mutate = Callable[[pytest.MonkeyPatch], None]


def write_without_version_check(patch: pytest.MonkeyPatch) -> None:
    async def write(
        self: GroupStore, group_id: str, version: Version, group: Group | Tombstone, offsets: OffsetChanges
    ) -> VersionedGroup:
        writes = [Put(group_key(group_id), encode_group(group)), *group_store._writes(group_id, offsets)]
        result = await self._meta.commit(group_domain(group_id, self._domains), [], writes)
        assert isinstance(result, Versions)
        assert not isinstance(group, Tombstone)
        return VersionedGroup(group, result.of[0])

    patch.setattr(GroupStore, "write", write)


def commit_offsets_without_version_check(patch: pytest.MonkeyPatch) -> None:
    async def write_offsets(self: GroupStore, group_id: str, _: Version, offsets: OffsetChanges) -> bool:
        domain = group_domain(group_id, self._domains)
        await self._meta.commit(domain, [], group_store._writes(group_id, offsets))
        return True

    patch.setattr(GroupStore, "write_offsets", write_offsets)


def assign_partitions_held_by_others(patch: pytest.MonkeyPatch) -> None:
    def held_by_others(*_: object) -> dict[bytes, set[int]]:
        return {}

    patch.setattr(reconcile, "_held_by_others", held_by_others)


def do_not_wait_for_revocation(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reconcile, "_owns", lambda *_: False)


def leave_members_of_dead_brokers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(machine, "take_over_members", lambda group, *_: group)


def ignore_changes_by_other_brokers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(GroupShard, "mark_changed", lambda *_: None)


def run_no_group_timers(patch: pytest.MonkeyPatch) -> None:
    def update(self: GroupTimers, specs: Iterable[TimerSpec]) -> None:
        original(self, [spec for spec in specs if spec.broker is not None])

    original: Any = GroupTimers.update
    patch.setattr(GroupTimers, "update", update)


def end_sessions_early(patch: pytest.MonkeyPatch) -> None:
    def set_sooner(self: GroupTimers, timer: Timer, seconds: float) -> None:
        original(self, timer, seconds / 3 if timer.kind is TimerKind.SESSION else seconds)

    original = GroupTimers._set
    patch.setattr(GroupTimers, "_set", set_sooner)


MUTANTS: dict[Mutate, tuple[str, ...]] = {
    write_without_version_check: ("G1", "G2", "G3", "G4"),
    assign_partitions_held_by_others: ("G1", "G4"),
    do_not_wait_for_revocation: ("G1",),
    leave_members_of_dead_brokers: ("G5",),
    ignore_changes_by_other_brokers: ("G5",),
    run_no_group_timers: ("G5",),
    end_sessions_early: ("G1",),
}
"""Each mutant with the rules of which it breaks at least one; `network_mutants` has the others."""
