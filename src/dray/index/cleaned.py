"""How far a stream has been cleaned: of every key only the last record is left below some offset.

Kept in the stream's job record, so that it changes in the commit that swaps the files, and outlives merges.

A *pass* takes the last offset of each key in a dirty stretch and drops what is older from that stretch and
from everything before it. When it is over, the stretch becomes a *step*: it tells until when the tombstones
in it are to be kept. So the age of a tombstone follows from its offset, whatever file it lies in. Long
streams take several jobs for one pass; each notes how far it has come.
"""

import msgspec

STEPS_MAX = 512
"""Steps that are remembered one by one; past that, neighbours are joined and the later time counts."""


class CleanStep(msgspec.Struct, frozen=True, array_like=True):
    """A stretch that was cleaned in one pass; it begins where the one before ends."""

    end_offset: int
    tombstones_until_ms: int
    """When its tombstones may go; 0 if none are left."""


class CleanPass(msgspec.Struct, frozen=True, array_like=True):
    """A pass that is under way."""

    end_offset: int
    """Where its dirty stretch ends; it begins at the end of the last step."""
    begun_ms: int
    """Tombstones that were to be kept until then or earlier are dropped."""
    done_offset: int = 0
    """Everything before it has been gone through."""
    tombstones: int = 0
    """How many have been kept in the dirty stretch so far."""


class Cleaned(msgspec.Struct, frozen=True, array_like=True):
    """How far a stream has been cleaned."""

    steps: tuple[CleanStep, ...] = ()
    under_way: CleanPass | None = None
    left_alone: tuple[int, int] | None = None
    """Where files lie that could not be cleaned, from the first one's start to the last one's end. They may
    hold what a tombstone behind them stands against: so that one must stay as long as they do."""

    @property
    def end_offset(self) -> int:
        return self.steps[-1].end_offset if self.steps else 0

    @property
    def expires_to(self) -> int:
        """Tombstones from here on are kept, however old."""
        return self.end_offset if self.left_alone is None else self.left_alone[0]

    def expired(self, now_ms: int) -> list[tuple[int, int]]:
        """Return the stretches whose tombstones may go, as first offsets and ends."""
        found, start = [], 0
        for step in self.steps:
            end = min(step.end_offset, self.expires_to)
            if start < end and 0 < step.tombstones_until_ms <= now_ms:
                found.append((start, end))
            start = step.end_offset
        return found


def after_pass(cleaned: Cleaned, done: CleanPass, delete_retention_ms: int) -> Cleaned:
    """Return what is so when a pass has gone through everything."""
    steps = [
        CleanStep(step.end_offset, 0)
        if step.tombstones_until_ms <= done.begun_ms and step.end_offset <= cleaned.expires_to
        else step
        for step in cleaned.steps
    ]
    if done.end_offset > cleaned.end_offset:
        until_ms = max(1, done.begun_ms + delete_retention_ms) if done.tombstones else 0
        steps.append(CleanStep(done.end_offset, until_ms))
    return Cleaned(tuple(_joined(steps)), None, cleaned.left_alone)


def without_left_alone(cleaned: Cleaned, log_start: int) -> Cleaned:
    """Forget files that the log has given up."""
    if cleaned.left_alone is None or cleaned.left_alone[1] > log_start:
        return cleaned
    return Cleaned(cleaned.steps, cleaned.under_way)


def with_left_alone(cleaned: Cleaned, start: int, end: int) -> Cleaned:
    """Remember a file that could not be cleaned."""
    known = cleaned.left_alone or (start, end)
    return Cleaned(cleaned.steps, cleaned.under_way, (min(start, known[0]), max(end, known[1])))


def _joined(steps: list[CleanStep]) -> list[CleanStep]:
    kept: list[CleanStep] = []
    for step in steps:
        if kept and kept[-1].tombstones_until_ms == step.tombstones_until_ms:
            kept[-1] = step
        else:
            kept.append(step)
    while len(kept) > STEPS_MAX:
        kept = [_later(kept[at : at + 2]) for at in range(0, len(kept), 2)]
    return kept


def _later(neighbours: list[CleanStep]) -> CleanStep:
    return CleanStep(neighbours[-1].end_offset, max(step.tombstones_until_ms for step in neighbours))
