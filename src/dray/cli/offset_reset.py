"""Resetting the offsets of a group: what is there is looked up, a plan is made, and carried out if wished."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from dray.cli.client import Cluster
from dray.cli.client.group_admin import GroupState, find_groups
from dray.cli.client.group_offsets import Offsets, commit_offsets, committed_offsets
from dray.cli.client.offsets import EARLIEST, LATEST, NOWHERE, offsets_at
from dray.cli.failure import Failure
from dray.cli.group_pages import as_json, no_such_group
from dray.cli.offset_plan import Extent, PlannedOffset, Target, planned
from dray.cli.tables import NOTHING, table

_COLUMNS: Final = ("topic", "partition", "committed", "new", "note")


@dataclass(frozen=True, slots=True)
class Reset:
    """What is to be reset, and where to. No topics: all of which something is committed."""

    group: str
    target: Target
    topics: tuple[str, ...] = ()
    partitions: tuple[int, ...] = ()
    """Of the one topic; none: all of them."""


async def plan_reset(cluster: Cluster, reset: Reset) -> list[PlannedOffset]:
    """Say what would become of each offset; raises `Failure` if it cannot be done."""
    state = (await find_groups(cluster, [reset.group])).get(reset.group)
    if state is None and not reset.topics:
        raise no_such_group(reset.group)
    if state is not None:
        _require_nobody(state)
    committed = await committed_offsets(cluster, reset.group)
    scope = await _scope(cluster, reset, committed)
    return [
        one
        for topic, numbers in scope.items()
        for one in planned(
            topic,
            await _extents(cluster, topic, numbers, reset.target),
            committed.get(topic, {}),
            reset.target,
        )
    ]


async def carry_out(cluster: Cluster, group: str, plan: Sequence[PlannedOffset]) -> None:
    """Commit the offsets that move."""
    offsets: dict[str, dict[int, int]] = {}
    for one in plan:
        if one.moves and one.new is not None:
            offsets.setdefault(one.topic, {})[one.partition] = one.new
    if offsets:
        await commit_offsets(cluster, group, offsets)


def shown_plan(plan: Sequence[PlannedOffset]) -> str:
    rows = [
        (one.topic, one.partition, _shown(one.committed), _shown(one.new), one.note or _unmoved(one))
        for one in plan
    ]
    return "\n".join(table(_COLUMNS, rows))


def plan_json(plan: Sequence[PlannedOffset]) -> str:
    return as_json([asdict(one) for one in plan])


def _require_nobody(state: GroupState) -> None:
    if state.members:
        count = len(state.members)
        has = "1 member" if count == 1 else f"{count} members"
        raise Failure(
            f"group '{state.group}' has {has} ({state.state}): offsets can be reset only while nobody is in "
            "the group; stop its consumers first"
        )


async def _scope(cluster: Cluster, reset: Reset, committed: Offsets) -> Mapping[str, list[int]]:
    if not reset.topics:
        if not committed:
            raise Failure(f"group '{reset.group}' has committed nothing; name the topics with --topic")
        return {topic: sorted(of_topic) for topic, of_topic in committed.items()}
    return {topic: await _partitions(cluster, topic, reset.partitions) for topic in reset.topics}


async def _partitions(cluster: Cluster, topic: str, wanted: Sequence[int]) -> list[int]:
    there = (await cluster.layout(topic)).partitions
    for number in wanted:
        if number not in there:
            raise Failure(f"topic '{topic}' has no partition {number}; its last one is {there[-1]}")
    return sorted(wanted or there)


async def _extents(
    cluster: Cluster, topic: str, numbers: Sequence[int], target: Target
) -> Mapping[int, Extent]:
    starts = await offsets_at(cluster, topic, numbers, EARLIEST)
    ends = await offsets_at(cluster, topic, numbers, LATEST)
    times: Mapping[int, int] = {}
    if target.kind == "timestamp":
        times = await offsets_at(cluster, topic, numbers, max(0, target.number))
    return {
        number: Extent(starts[number], ends[number], _found(times.get(number, NOWHERE))) for number in numbers
    }


def _found(offset: int) -> int | None:
    return None if offset == NOWHERE else offset


def _shown(number: int | None) -> object:
    return NOTHING if number is None else number


def _unmoved(one: PlannedOffset) -> str:
    return "" if one.moves else "stays"
