"""What `dray groups` tells about groups: gathered from brokers, and shown as text or JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import msgspec

from dray.cli.client import Cluster, UnknownTopic
from dray.cli.client.errors import Refused
from dray.cli.client.group_admin import GroupMember, GroupState, find_groups, list_groups
from dray.cli.client.group_offsets import Offsets, committed_offsets
from dray.cli.client.offsets import LATEST, offsets_at
from dray.cli.tables import NOTHING, table
from dray.wire import ErrorCode

_MEMBERS: Final = ("member", "client", "host", "partitions")
_OFFSETS: Final = ("topic", "partition", "committed", "end", "lag", "member")


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A line of the list."""

    group: str
    protocol: str
    state: str
    type: str


@dataclass(frozen=True, slots=True)
class DescribedPartition:
    """How far a group has come in a partition; None where nothing is committed, or nobody knows."""

    topic: str
    partition: int
    committed: int | None
    end: int | None
    member_id: str | None

    @property
    def lag(self) -> int | None:
        if self.committed is None or self.end is None:
            return None
        return max(0, self.end - self.committed)


@dataclass(frozen=True, slots=True)
class DescribedGroup:
    """A group in full."""

    state: GroupState
    partitions: tuple[DescribedPartition, ...]

    @property
    def lag(self) -> int:
        return sum(one.lag or 0 for one in self.partitions)


async def listed(cluster: Cluster) -> list[ListedGroup]:
    return [
        ListedGroup(group.group_id, group.group_type, group.group_state, group.protocol_type)
        for group in await list_groups(cluster)
    ]


async def described(cluster: Cluster, names: Sequence[str]) -> list[DescribedGroup]:
    """Describe these groups, or all."""
    wanted = names or [group.group_id for group in await list_groups(cluster)]
    found = await find_groups(cluster, wanted)
    for name in names:
        if name not in found:
            raise no_such_group(name)
    return [await _described(cluster, found[name]) for name in sorted(found)]


def no_such_group(name: str) -> Refused:
    code = ErrorCode.GROUP_ID_NOT_FOUND
    return Refused(f"group '{name}': there is no such group ({code.name})", code)


async def _described(cluster: Cluster, state: GroupState) -> DescribedGroup:
    committed = await committed_offsets(cluster, state.group)
    owners = {
        (topic, number): member.member_id
        for member in state.members
        for topic, numbers in member.partitions.items()
        for number in numbers
    }
    places = sorted(owners.keys() | set(_places(committed)))
    ends = {topic: await _ends(cluster, topic) for topic in dict.fromkeys(topic for topic, _ in places)}
    return DescribedGroup(
        state,
        tuple(
            DescribedPartition(
                topic,
                number,
                committed.get(topic, {}).get(number),
                ends[topic].get(number),
                owners.get((topic, number)),
            )
            for topic, number in places
        ),
    )


def _places(offsets: Offsets) -> Iterator[tuple[str, int]]:
    return ((topic, number) for topic, of_topic in offsets.items() for number in of_topic)


async def _ends(cluster: Cluster, topic: str) -> Mapping[int, int]:
    """Return where each partition ends; nothing for a topic that was deleted meanwhile."""
    try:
        return await offsets_at(cluster, topic, (await cluster.layout(topic)).partitions, LATEST)
    except UnknownTopic:
        return {}


def list_json(found: Sequence[ListedGroup]) -> str:
    return as_json([asdict(one) for one in found])


def list_text(found: Sequence[ListedGroup]) -> str:
    rows = [(one.group, one.protocol, one.state, one.type) for one in found]
    return "\n".join(table(("group", "protocol", "state", "type"), rows)) if rows else ""


def pages_json(found: Sequence[DescribedGroup]) -> str:
    return as_json(
        [
            {
                **asdict(one.state),
                "lag": one.lag,
                "partitions": [asdict(part) | {"lag": part.lag} for part in one.partitions],
            }
            for one in found
        ]
    )


def as_json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value)).decode()


def pages(found: Sequence[DescribedGroup]) -> str:
    return "\n\n".join("\n".join(_page(group)) for group in found)


def _page(group: DescribedGroup) -> Iterator[str]:
    state = group.state
    yield f"group {state.group}, {state.state}, {_protocol(state)}, coordinator {state.coordinator}"
    if state.members:
        yield from _indented(table(_MEMBERS, [_member_row(member) for member in state.members]))
    else:
        yield "  no members"
    if group.partitions:
        yield ""
        yield from _indented(table(_OFFSETS, [_offset_row(part) for part in group.partitions]))
        yield f"  lag {group.lag} in all"
    else:
        yield "  no committed offsets"


def _protocol(state: GroupState) -> str:
    of = f" of type {state.type}" if state.type not in ("", "consumer") else ""
    assignor = f", assignor {state.assignor}" if state.assignor else ""
    return f"{state.protocol} protocol{of}{assignor}"


def _member_row(member: GroupMember) -> tuple[object, ...]:
    name = member.member_id if member.instance_id is None else f"{member.member_id} ({member.instance_id})"
    owned = " ".join(
        f"{topic}[{','.join(map(str, numbers))}]" for topic, numbers in sorted(member.partitions.items())
    )
    return name, member.client_id, member.host.removeprefix("/"), owned or NOTHING


def _offset_row(part: DescribedPartition) -> tuple[object, ...]:
    numbers = (part.committed, part.end, part.lag)
    shown = (NOTHING if number is None else number for number in numbers)
    return part.topic, part.partition, *shown, part.member_id or NOTHING


def _indented(lines: Sequence[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)
