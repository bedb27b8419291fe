"""Positions in a topic: where to start reading each partition, and where to end."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dray.client.admin import Admin
from dray.client.consumer import ReadRange
from dray.client.errors import ClientError
from dray.client.offsets import EARLIEST, LATEST, NO_OFFSET, at_time, offsets_at
from dray.client.topics import find_topic
from dray.ids import missing_partition


@dataclass(frozen=True, slots=True)
class StartingPoint:
    """Where to begin; `number` is an offset, a count or a time in milliseconds."""

    kind: Literal["earliest", "latest", "offset", "last", "time"]
    number: int = 0


class NoSuchPosition(ClientError):
    """The partition does not exist, or the offset is outside it."""


def read_ranges(
    admin: Admin, topic: str, partition: int | None, start: StartingPoint, *, follow: bool
) -> list[ReadRange]:
    """Return what to read of one partition, or of all; unless it follows, up to what is there now."""
    partitions = find_topic(admin, topic).partitions
    if partition is not None:
        if partition not in partitions:
            raise NoSuchPosition(missing_partition(topic, partition, len(partitions)))
        partitions = range(partition, partition + 1)
    ends = offsets_at(admin, topic, partitions, LATEST)
    starts = _starts(admin, topic, start, ends)
    return [ReadRange(number, starts[number], None if follow else ends[number]) for number in partitions]


def _starts(admin: Admin, topic: str, start: StartingPoint, ends: Mapping[int, int]) -> Mapping[int, int]:
    """Return by partition where to start; `ends` says where each one ends now."""
    if start.kind == "latest":
        return ends
    if start.kind == "time":
        found = offsets_at(admin, topic, ends, at_time(start.number))
        return {number: ends[number] if at == NO_OFFSET else at for number, at in found.items()}
    starts = offsets_at(admin, topic, ends, EARLIEST)
    if start.kind == "last":
        return {number: max(starts[number], end - start.number) for number, end in ends.items()}
    if start.kind == "offset":
        _check_offset(start.number, starts, ends)
        return dict.fromkeys(ends, start.number)
    return starts


def _check_offset(offset: int, starts: Mapping[int, int], ends: Mapping[int, int]) -> None:
    for number, end in ends.items():
        if not starts[number] <= offset <= end:
            raise NoSuchPosition(
                f"offset {offset} is outside partition {number}, which starts at {starts[number]} "
                f"and ends before {end}"
            )
