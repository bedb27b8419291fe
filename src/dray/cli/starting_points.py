"""Where reading begins: the argument of `dray consume --from`, and the offsets that it comes to."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from dray.cli.client import Cluster
from dray.cli.client.offsets import EARLIEST, LATEST, NOWHERE, offsets_at
from dray.cli.failure import Failure
from dray.cli.instants import parse_iso

Kind = Literal["earliest", "latest", "offset", "last", "time"]
_FORMS: Final = (
    "earliest, latest, OFFSET, -N for the last N, @MILLISECONDS, or a time such as 2026-01-31T08:00Z"
)


@dataclass(frozen=True, slots=True)
class StartingPoint:
    """A place to begin; `number` is an offset, a count or a time in milliseconds."""

    kind: Kind
    number: int = 0


_NAMED: Final = {"earliest": StartingPoint("earliest"), "latest": StartingPoint("latest")}


def parse_starting_point(text: str) -> StartingPoint:
    """Read one of the forms; `ValueError` names them all."""
    if text in _NAMED:
        return _NAMED[text]
    if re.fullmatch(r"[0-9]{1,19}", text):
        return StartingPoint("offset", int(text))
    if re.fullmatch(r"-[0-9]{1,19}", text):
        return StartingPoint("last", -int(text))
    if re.fullmatch(r"@[0-9]{1,19}", text):
        return StartingPoint("time", int(text[1:]))
    try:
        return StartingPoint("time", parse_iso(text))
    except (ValueError, OverflowError):
        raise ValueError(f"expected {_FORMS}, got {text!r}") from None


async def starting_offsets(
    cluster: Cluster, topic: str, ends: Mapping[int, int], point: StartingPoint
) -> dict[int, int]:
    """Return by partition where to begin; `ends` says where each one ends now."""
    if point.kind == "latest":
        return dict(ends)
    starts = await offsets_at(cluster, topic, ends, EARLIEST)
    match point.kind:
        case "last":
            return {number: max(starts[number], end - point.number) for number, end in ends.items()}
        case "offset":
            _check_offset(point.number, starts, ends)
            return dict.fromkeys(ends, point.number)
        case "time":
            found = await offsets_at(cluster, topic, ends, max(point.number, 0))
            return {number: ends[number] if at == NOWHERE else at for number, at in found.items()}
    return starts


async def ending_offsets(cluster: Cluster, topic: str, partitions: range) -> dict[int, int]:
    """Return by partition the offset that its next record will have."""
    return await offsets_at(cluster, topic, partitions, LATEST)


def _check_offset(offset: int, starts: Mapping[int, int], ends: Mapping[int, int]) -> None:
    for number, end in ends.items():
        if not starts[number] <= offset <= end:
            raise Failure(
                f"offset {offset} is outside partition {number}, which begins at {starts[number]} "
                f"and ends before {end}"
            )
