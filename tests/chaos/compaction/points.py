"""Where a compaction can be struck: what it does, in order, and how far its job has come by then.

A point is a moment of something that is done: `before`, `in` or `after` it. For a job of each kind, from the
WAL to Parquet (`wal`) or from files to a larger one (`merge`):

    snapshot ─▶ created ─▶ spark ─▶ written ─▶ table ─▶ tabled ─▶ swap

Beside the jobs: `detach` takes files out of the table that retention gave up, `let go` notes that they are
out; `expire` forgets the table's old snapshots, `tidy` deletes metadata that only those named.
"""

from collections.abc import Mapping
from typing import Literal, get_args

Kind = Literal["wal", "merge"]
KINDS: tuple[Kind, ...] = get_args(Kind)
State = Literal["created", "written", "tabled", "done", "retention", "upkeep"]
SAGA: tuple[State, ...] = ("created", "written", "tabled", "done")
STATES: tuple[State, ...] = get_args(State)

MOMENTS = ("before", "in", "after")
_PARTITIONS_PASSED = 3

_OF_A_JOB: Mapping[State, tuple[str, ...]] = {
    "created": ("after created", "before spark", "in spark", "after spark", "before written", "in written"),
    "written": ("after written", "before table", "in table", "after table", "before tabled", "in tabled"),
    "tabled": ("after tabled", "before swap", "in swap"),
    "done": ("after swap", "before created", "in created"),
}
_BESIDES: Mapping[State, tuple[str, ...]] = {
    "retention": tuple(f"{moment} {what}" for what in ("detach", "let go") for moment in MOMENTS),
    "upkeep": tuple(f"{moment} {what}" for what in ("expire", "tidy") for moment in MOMENTS),
}
_PLANNING = ("before snapshot", "in snapshot", "after snapshot")
_ONCE_A_ROUND = ("spark", "table", "snapshot", "detach", "let", "expire", "tidy")


def points_of(state: State, kind: Kind) -> tuple[str, ...]:
    """Return the points at which a job of this kind is in this state."""
    if state in _BESIDES:
        return _BESIDES[state]
    points = tuple(f"{point} {kind}" for point in _OF_A_JOB[state])
    return (*points, *_PLANNING) if (state, kind) == ("done", "wal") else points


def passes_max(point: str) -> int:
    """How often a point is passed at most before one goes on to the next: once for each partition, mostly."""
    what = point.split(" ")[1]
    return 1 if what in _ONCE_A_ROUND else _PARTITIONS_PASSED


def can_halt(point: str) -> bool:
    """Whether a process may be halted there for long: in a commit it would hold SQLite's lock."""
    return not point.startswith("in ") or "spark" in point
