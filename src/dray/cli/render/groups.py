"""Output of `dray groups`, as text and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Final

from dray.cli.render.formats import NOTHING, pretty_json, table
from dray.client.groups import GroupDetails, GroupMember, GroupState, ListedGroup, PartitionLag
from dray.client.offset_reset import PlannedOffset

_MEMBERS: Final = ("member", "client", "host", "partitions")
_OFFSETS: Final = ("topic", "partition", "committed", "end", "lag", "member")
_PLAN: Final = ("topic", "partition", "committed", "new", "note")


def list_json(found: Sequence[ListedGroup]) -> str:
    return pretty_json([asdict(one) for one in found])


def list_text(found: Sequence[ListedGroup]) -> str:
    rows = [(one.group, one.protocol, one.state, one.type) for one in found]
    return "\n".join(table(("group", "protocol", "state", "type"), rows)) if rows else ""


def details_json(found: Sequence[GroupDetails]) -> str:
    return pretty_json(
        [
            {
                **asdict(one.state),
                "lag": one.lag,
                "partitions": [asdict(part) | {"lag": part.lag} for part in one.partitions],
            }
            for one in found
        ]
    )


def plan_json(plan: Sequence[PlannedOffset]) -> str:
    return pretty_json([asdict(one) for one in plan])


def plan_text(plan: Sequence[PlannedOffset]) -> str:
    rows = [
        (one.topic, one.partition, _cell(one.committed), _cell(one.new), one.note or _unchanged(one))
        for one in plan
    ]
    return "\n".join(table(_PLAN, rows))


def _unchanged(one: PlannedOffset) -> str:
    return "" if one.moves else "unchanged"


def _cell(number: int | None) -> object:
    return NOTHING if number is None else number


def details_text(found: Sequence[GroupDetails]) -> str:
    return "\n\n".join("\n".join(_details(group)) for group in found)


def _details(group: GroupDetails) -> Iterator[str]:
    state = group.state
    yield f"group {state.group}, {state.state}, {_protocol(state)}, coordinator {state.coordinator}"
    if state.members:
        yield from _indented(table(_MEMBERS, [_member_row(member) for member in state.members]))
    else:
        yield "  no members"
    if group.partitions:
        yield ""
        yield from _indented(table(_OFFSETS, [_offset_row(part) for part in group.partitions]))
        yield f"  total lag {group.lag}"
    else:
        yield "  no committed offsets"


def _protocol(state: GroupState) -> str:
    assignor = f", assignor {state.assignor}" if state.assignor else ""
    return f"{state.protocol} protocol{assignor}"


def _member_row(member: GroupMember) -> tuple[object, ...]:
    name = member.member_id if member.instance_id is None else f"{member.member_id} ({member.instance_id})"
    owned = " ".join(
        f"{topic}[{','.join(map(str, numbers))}]" for topic, numbers in sorted(member.partitions.items())
    )
    return name, member.client_id, member.host.removeprefix("/"), owned or NOTHING


def _offset_row(part: PartitionLag) -> tuple[object, ...]:
    numbers = map(_cell, (part.committed, part.end, part.lag))
    return part.topic, part.partition, *numbers, part.member_id or NOTHING


def _indented(lines: Sequence[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)
