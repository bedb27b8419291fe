"""Offset resets of a group: look up what is there, plan the new offsets, commit them.

The plan is pure. An offset outside the log would make a consumer start over by its own rules, so it is moved
to the log's edge, and the plan says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dray.client.admin import Admin
from dray.client.errors import ClientError
from dray.client.groups import (
    GroupState,
    Offsets,
    commit_offsets,
    committed_offsets,
    find_groups,
    unknown_group,
)
from dray.client.offsets import EARLIEST, LATEST, NO_OFFSET, at_time, offsets_at
from dray.client.topics import find_topic
from dray.ids import missing_partition

Kind = Literal["earliest", "latest", "offset", "timestamp", "shift"]


@dataclass(frozen=True, slots=True)
class Target:
    """Where to reset to; `number` is an offset, a time in milliseconds or a distance."""

    kind: Kind
    number: int = 0


@dataclass(frozen=True, slots=True)
class Reset:
    """What to reset, and where to. Without topics: every topic the group has committed offsets for."""

    group: str
    target: Target
    topics: tuple[str, ...] = ()
    partitions: tuple[int, ...] = ()
    """Of the one topic; empty for all of them."""


@dataclass(frozen=True, slots=True)
class PartitionBounds:
    """First and next offset of a partition, and the first offset of the requested time, if there is one."""

    start: int
    end: int
    at_time: int | None = None


@dataclass(frozen=True, slots=True)
class PlannedOffset:
    """The change of one partition's offset; `new` is None where it cannot be determined."""

    topic: str
    partition: int
    committed: int | None
    new: int | None
    note: str = ""

    @property
    def moves(self) -> bool:
        return self.new is not None and self.new != self.committed


class CannotReset(ClientError):
    """The offsets of a group cannot be reset as requested."""


def plan_offsets(
    topic: str, bounds: Mapping[int, PartitionBounds], committed: Mapping[int, int], target: Target
) -> Iterator[PlannedOffset]:
    """Yield the change of each partition's offset."""
    for number, bound in bounds.items():
        old = committed.get(number)
        if target.kind == "shift" and old is None:
            yield PlannedOffset(topic, number, old, None, "no committed offset to shift")
            continue
        wanted, note = _wanted(bound, old or 0, target)
        new = min(max(wanted, bound.start), bound.end)
        if new < wanted:
            note = f"{wanted} is beyond the end"
        elif new > wanted:
            note = f"{wanted} is before the start"
        yield PlannedOffset(topic, number, old, new, note)


def _wanted(bound: PartitionBounds, old: int, target: Target) -> tuple[int, str]:
    match target.kind:
        case "earliest":
            return bound.start, ""
        case "latest":
            return bound.end, ""
        case "offset":
            return target.number, ""
        case "shift":
            return old + target.number, ""
        case "timestamp":
            return (bound.end, "no record is that recent") if bound.at_time is None else (bound.at_time, "")


def plan_reset(admin: Admin, reset: Reset) -> list[PlannedOffset]:
    """Return what a reset would change; raises `CannotReset` if it is impossible."""
    state = find_groups(admin, [reset.group]).get(reset.group)
    if state is None and not reset.topics:
        raise unknown_group(reset.group)
    if state is not None:
        _check_inactive(state)
    committed = committed_offsets(admin, reset.group)
    scope = _scope(admin, reset, committed)
    return [
        one
        for topic, numbers in scope.items()
        for one in plan_offsets(
            topic, _bounds(admin, topic, numbers, reset.target), committed.get(topic, {}), reset.target
        )
    ]


def apply_reset(admin: Admin, group: str, plan: Sequence[PlannedOffset]) -> None:
    """Commit the offsets that change."""
    offsets: dict[str, dict[int, int]] = {}
    for one in plan:
        if one.moves and one.new is not None:
            offsets.setdefault(one.topic, {})[one.partition] = one.new
    if offsets:
        commit_offsets(admin, group, offsets)


def _check_inactive(state: GroupState) -> None:
    if state.members:
        count = len(state.members)
        members = "1 member" if count == 1 else f"{count} members"
        raise CannotReset(
            f"group '{state.group}' has {members} ({state.state}): offsets can be reset only while the "
            "group is inactive; stop its consumers first"
        )


def _scope(admin: Admin, reset: Reset, committed: Offsets) -> Mapping[str, list[int]]:
    if not reset.topics:
        if not committed:
            raise CannotReset(f"group '{reset.group}' has no committed offsets; name the topics with --topic")
        return {topic: sorted(of_topic) for topic, of_topic in committed.items()}
    return {topic: _partitions(admin, topic, reset.partitions) for topic in reset.topics}


def _partitions(admin: Admin, topic: str, wanted: Sequence[int]) -> list[int]:
    existing = find_topic(admin, topic).partitions
    for number in wanted:
        if number not in existing:
            raise CannotReset(missing_partition(topic, number, len(existing)))
    return sorted(wanted or existing)


def _bounds(
    admin: Admin, topic: str, numbers: Sequence[int], target: Target
) -> Mapping[int, PartitionBounds]:
    starts = offsets_at(admin, topic, numbers, EARLIEST)
    ends = offsets_at(admin, topic, numbers, LATEST)
    times: Mapping[int, int] = {}
    if target.kind == "timestamp":
        times = offsets_at(admin, topic, numbers, at_time(target.number))
    return {
        number: PartitionBounds(starts[number], ends[number], _found(times.get(number, NO_OFFSET)))
        for number in numbers
    }


def _found(offset: int) -> int | None:
    return None if offset == NO_OFFSET else offset
