"""Where the offsets of a group are to be set: decided here, carried out elsewhere. Pure.

An offset outside the log would make a consumer start over by its own rules, so it is moved to the log's edge,
and the plan says so.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["earliest", "latest", "offset", "timestamp", "shift"]


@dataclass(frozen=True, slots=True)
class Target:
    """Where to; `number` is an offset, a time in milliseconds or a distance."""

    kind: Kind
    number: int = 0


@dataclass(frozen=True, slots=True)
class Extent:
    """A partition: its first offset, the one its next record will have, and what was found by time."""

    start: int
    end: int
    at_time: int | None = None
    """The first offset of the time that was asked for; None if no record is so new."""


@dataclass(frozen=True, slots=True)
class PlannedOffset:
    """What becomes of one partition's offset; `new` is None if it cannot be said."""

    topic: str
    partition: int
    committed: int | None
    new: int | None
    note: str = ""

    @property
    def moves(self) -> bool:
        return self.new is not None and self.new != self.committed


def planned(
    topic: str, extents: Mapping[int, Extent], committed: Mapping[int, int], target: Target
) -> Iterator[PlannedOffset]:
    """Say for each partition where its offset goes."""
    for number, extent in extents.items():
        old = committed.get(number)
        if target.kind == "shift" and old is None:
            yield PlannedOffset(topic, number, old, None, "nothing committed to shift")
            continue
        wanted, note = _wanted(extent, old or 0, target)
        new = min(max(wanted, extent.start), extent.end)
        if new < wanted:
            note = f"{wanted} is beyond the end"
        elif new > wanted:
            note = f"{wanted} is before the start"
        yield PlannedOffset(topic, number, old, new, note)


def _wanted(extent: Extent, old: int, target: Target) -> tuple[int, str]:
    match target.kind:
        case "earliest":
            return extent.start, ""
        case "latest":
            return extent.end, ""
        case "offset":
            return target.number, ""
        case "shift":
            return old + target.number, ""
        case "timestamp":
            return (extent.end, "no record is so new") if extent.at_time is None else (extent.at_time, "")
