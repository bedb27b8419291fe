"""What a stream remembers of one idempotent producer, and how the next batch is judged.

Kafka keeps, per stream and producer id, the epoch and the last five batches. A batch equal to one of the
five is a duplicate and is answered with the offset it got the first time. Otherwise it must continue the
sequence, or begin a new epoch at zero. A producer nobody has heard of may begin anywhere, as its state may
have expired, unless it is known that an earlier batch of its was lost on the way.

    judge(state, batch)   Accept | Duplicate | Refuse     decides, changes nothing
    accepted(state, …)    the state after an accepted batch

Judging happens where offsets are assigned, never on receipt: only there is the order of batches known.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

import msgspec

NO_PRODUCER: Final = -1
REMEMBERED_BATCHES: Final = 5
_SEQUENCES: Final = 1 << 31


class Reason(Enum):
    """Why a batch was refused; the front maps these to Kafka's codes."""

    OUT_OF_ORDER_SEQUENCE = "out of order sequence"
    STALE_EPOCH = "stale epoch"


class ProducerBatch(NamedTuple):
    """What a batch says of its producer."""

    producer_id: int
    epoch: int
    base_sequence: int
    record_count: int

    @property
    def last_sequence(self) -> int:
        return (self.base_sequence + self.record_count - 1) % _SEQUENCES


class Remembered(msgspec.Struct, frozen=True, array_like=True):
    """One of the last batches of a producer."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    timestamp_ms: int


class ProducerState(msgspec.Struct, frozen=True, array_like=True):
    """One producer, as one stream knows it."""

    producer_id: int
    epoch: int
    batches: tuple[Remembered, ...]
    """Oldest first; never empty."""
    seen_at_ms: int
    """When its last batch was committed."""


@dataclass(frozen=True, slots=True)
class Accept:
    """The batch gets the next offsets."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The batch was committed before, with this offset."""

    base_offset: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class Refuse:
    """The batch must not be committed."""

    reason: Reason
    message: str


Verdict = Accept | Duplicate | Refuse
ACCEPT: Final = Accept()


def judge(state: ProducerState | None, batch: ProducerBatch, *, begins_with: int | None = None) -> Verdict:
    """Judge the next batch.

    `begins_with` is the one sequence an unknown producer may begin with (None: any).
    """
    if state is None:
        return _judge_unknown(batch, begins_with)
    if batch.epoch == state.epoch:
        return _judge_same_epoch(state, batch)
    if batch.epoch < state.epoch:
        return Refuse(
            Reason.STALE_EPOCH,
            f"producer {batch.producer_id} sent epoch {batch.epoch}, but epoch {state.epoch} is known",
        )
    if batch.base_sequence != 0:
        return Refuse(
            Reason.OUT_OF_ORDER_SEQUENCE,
            f"producer {batch.producer_id} began epoch {batch.epoch} at sequence {batch.base_sequence}, "
            "but a new epoch begins at 0",
        )
    return ACCEPT


def _judge_unknown(batch: ProducerBatch, begins_with: int | None) -> Verdict:
    if begins_with is None or batch.base_sequence == begins_with:
        return ACCEPT
    return Refuse(
        Reason.OUT_OF_ORDER_SEQUENCE,
        f"producer {batch.producer_id} in epoch {batch.epoch} sent sequence {batch.base_sequence}, "
        f"but {begins_with} was lost and must come first",
    )


def _judge_same_epoch(state: ProducerState, batch: ProducerBatch) -> Verdict:
    for known in state.batches:
        if (known.first_sequence, known.last_sequence) == (batch.base_sequence, batch.last_sequence):
            return Duplicate(known.base_offset, known.timestamp_ms)
    expected = (state.batches[-1].last_sequence + 1) % _SEQUENCES
    if batch.base_sequence != expected:
        return Refuse(
            Reason.OUT_OF_ORDER_SEQUENCE,
            f"producer {batch.producer_id} in epoch {batch.epoch} sent sequence {batch.base_sequence}, "
            f"but {expected} is next",
        )
    return ACCEPT


def accepted(
    state: ProducerState | None, batch: ProducerBatch, *, base_offset: int, timestamp_ms: int, now_ms: int
) -> ProducerState:
    """Return the state after `batch` was given `base_offset`; also used to rebuild it from the index."""
    kept: tuple[Remembered, ...] = ()
    if state is not None and state.epoch == batch.epoch:
        kept = state.batches[1 - REMEMBERED_BATCHES :]
    new = Remembered(batch.base_sequence, batch.last_sequence, base_offset, timestamp_ms)
    return ProducerState(batch.producer_id, batch.epoch, (*kept, new), now_ms)
