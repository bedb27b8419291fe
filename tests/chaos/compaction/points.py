"""Failpoints of compaction by the state of the job: the steps of a job in order, and maintenance.

A point is `before`, `in` or `after` a step. The steps of a job of either kind, from the WAL to Parquet
(`wal`) or from several files to a larger one (`merge`):

    snapshot ─▶ created ─▶ spark ─▶ written ─▶ table ─▶ published ─▶ swap

Outside jobs: `detach` removes expired files from the table, `release` records that they were removed;
`expire` expires the table's old snapshots, `purge` deletes the metadata files only those referenced.
"""

from collections.abc import Mapping
from typing import Literal, get_args

Kind = Literal["wal", "merge"]
KINDS: tuple[Kind, ...] = get_args(Kind)
State = Literal["created", "written", "published", "done", "retention", "maintenance"]
SAGA: tuple[State, ...] = ("created", "written", "published", "done")
STATES: tuple[State, ...] = get_args(State)

MOMENTS = ("before", "in", "after")
_PARTITIONS_PASSED = 3

_OF_A_JOB: Mapping[State, tuple[str, ...]] = {
    "created": ("after created", "before spark", "in spark", "after spark", "before written", "in written"),
    "written": (
        "after written",
        "before table",
        "in table",
        "after table",
        "before published",
        "in published",
    ),
    "published": ("after published", "before swap", "in swap"),
    "done": ("after swap", "before created", "in created"),
}
_OUTSIDE_JOBS: Mapping[State, tuple[str, ...]] = {
    "retention": tuple(f"{moment} {what}" for what in ("detach", "release") for moment in MOMENTS),
    "maintenance": tuple(f"{moment} {what}" for what in ("expire", "purge") for moment in MOMENTS),
}
_PLANNING = ("before snapshot", "in snapshot", "after snapshot")
_ONCE_A_ROUND = ("spark", "table", "snapshot", "detach", "release", "expire", "purge")


def points_of(state: State, kind: Kind) -> tuple[str, ...]:
    """Return the points that are passed while a job of this kind is in this state."""
    if state in _OUTSIDE_JOBS:
        return _OUTSIDE_JOBS[state]
    points = tuple(f"{point} {kind}" for point in _OF_A_JOB[state])
    return (*points, *_PLANNING) if (state, kind) == ("done", "wal") else points


def passes_max(point: str) -> int:
    """Return how often a point is passed at most before the next one: mostly once for each partition."""
    what = point.split(" ")[1]
    return 1 if what in _ONCE_A_ROUND else _PARTITIONS_PASSED


def can_pause(point: str) -> bool:
    """Whether a process may be paused there for long: inside a commit it would hold SQLite's lock."""
    return not point.startswith("in ") or "spark" in point
