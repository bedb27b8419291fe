"""Key compaction state of a stream: the offset below which only the last record of each key is left.

It is part of the stream's job record, so that it changes in the commit that swaps the files, and survives
merges of files.

A *cycle* finds the last offset of each key in the dirty range and drops older records of those keys from that
range and from everything before it. At its end the dirty range becomes a *step*, which records how long its
tombstones are retained. So the age of a tombstone follows from its offset, whatever file holds it. A cycle of
a long stream takes several jobs; each records its progress.
"""

import msgspec

STEPS_MAX = 512
"""Maximum number of steps; beyond it, adjacent steps are merged and keep the later time."""


class CompactedRange(msgspec.Struct, frozen=True, array_like=True):
    """A step: the range that one cycle compacted; it begins where the one before ends."""

    end_offset: int
    tombstones_until_ms: int
    """Time from which its tombstones may be dropped; 0 if none are left."""


class KeyCompactionCycle(msgspec.Struct, frozen=True, array_like=True):
    """A cycle in progress."""

    end_offset: int
    """End of its dirty range, which begins at the end of the last step."""
    begun_ms: int
    """Tombstones whose retention ended by this time are dropped."""
    done_offset: int = 0
    """Everything before this offset has been processed."""
    tombstones: int = 0
    """Number of tombstones kept in the dirty range so far."""


class KeyCompactionState(msgspec.Struct, frozen=True, array_like=True):
    """Progress of key compaction in a stream."""

    steps: tuple[CompactedRange, ...] = ()
    cycle: KeyCompactionCycle | None = None
    excluded: tuple[int, int] | None = None
    """Range of the files that could not be compacted, from the start of the first to the end of the last.
    They may hold records that a later tombstone deletes, so that tombstone must be kept as long as they
    exist."""

    @property
    def end_offset(self) -> int:
        return self.steps[-1].end_offset if self.steps else 0

    @property
    def expires_to(self) -> int:
        """Offset from which tombstones are kept, however old they are."""
        return self.end_offset if self.excluded is None else self.excluded[0]

    def expired(self, now_ms: int) -> list[tuple[int, int]]:
        """Return the ranges whose tombstones may be dropped, as pairs of start and end offset."""
        found, start = [], 0
        for step in self.steps:
            end = min(step.end_offset, self.expires_to)
            if start < end and 0 < step.tombstones_until_ms <= now_ms:
                found.append((start, end))
            start = step.end_offset
        return found


def after_cycle(
    state: KeyCompactionState, done: KeyCompactionCycle, delete_retention_ms: int
) -> KeyCompactionState:
    """Return the state after a cycle has processed all files."""
    steps = [
        CompactedRange(step.end_offset, 0)
        if step.tombstones_until_ms <= done.begun_ms and step.end_offset <= state.expires_to
        else step
        for step in state.steps
    ]
    if done.end_offset > state.end_offset:
        until_ms = max(1, done.begun_ms + delete_retention_ms) if done.tombstones else 0
        steps.append(CompactedRange(done.end_offset, until_ms))
    return KeyCompactionState(tuple(_joined(steps)), None, state.excluded)


def rewound(state: KeyCompactionState, offset: int) -> KeyCompactionState:
    """Return the state in which records from `offset` on are dirty again.

    The range of excluded files is forgotten: the next cycle finds those files again.
    """
    under_way_end = state.cycle.end_offset if state.cycle is not None else 0
    if offset >= max(state.end_offset, under_way_end):
        return state
    steps = [step for step in state.steps if step.end_offset <= offset]
    cut = next((step for step in state.steps if step.end_offset > offset), None)
    if cut is not None and offset > (steps[-1].end_offset if steps else 0):
        steps.append(CompactedRange(offset, cut.tombstones_until_ms))
    return KeyCompactionState(tuple(steps))


def without_expired_exclusion(state: KeyCompactionState, log_start: int) -> KeyCompactionState:
    """Forget excluded files that were trimmed from the log."""
    if state.excluded is None or state.excluded[1] > log_start:
        return state
    return KeyCompactionState(state.steps, state.cycle)


def with_excluded(state: KeyCompactionState, start: int, end: int) -> KeyCompactionState:
    """Add a file that could not be compacted to the excluded range."""
    known = state.excluded or (start, end)
    return KeyCompactionState(state.steps, state.cycle, (min(start, known[0]), max(end, known[1])))


def _joined(steps: list[CompactedRange]) -> list[CompactedRange]:
    kept: list[CompactedRange] = []
    for step in steps:
        if kept and kept[-1].tombstones_until_ms == step.tombstones_until_ms:
            kept[-1] = step
        else:
            kept.append(step)
    while len(kept) > STEPS_MAX:
        kept = [_merged(kept[at : at + 2]) for at in range(0, len(kept), 2)]
    return kept


def _merged(adjacent: list[CompactedRange]) -> CompactedRange:
    return CompactedRange(adjacent[-1].end_offset, max(step.tombstones_until_ms for step in adjacent))
