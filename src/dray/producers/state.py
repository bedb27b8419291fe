"""State of an idempotent producer in one stream, and the sequence check of its next batch.

As in Kafka the state is, per stream and producer id, the epoch and the last five batches. A batch equal to
one of the five is a duplicate and is answered with its original offset. Any other batch must continue the
sequence, or begin a new epoch at zero. An unknown producer may begin at any sequence, because its state may
have expired, unless an earlier batch of it is known to be lost.

    check_sequence(state, batch)   Accept | Duplicate | Reject     decides, changes nothing
    accepted(state, …)             the state after an accepted batch

The check happens where offsets are assigned, never on receipt: only there is the order of batches known.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

import msgspec

NO_PRODUCER: Final = -1
BATCHES_RETAINED: Final = 5
_SEQUENCES: Final = 1 << 31


class Reason(Enum):
    """The reason of a refusal; `api` maps it to Kafka's error code."""

    OUT_OF_ORDER_SEQUENCE = "out of order sequence"
    STALE_EPOCH = "stale epoch"


class ProducerBatch(NamedTuple):
    """The producer fields of a batch."""

    producer_id: int
    epoch: int
    base_sequence: int
    record_count: int

    @property
    def last_sequence(self) -> int:
        return (self.base_sequence + self.record_count - 1) % _SEQUENCES


class BatchMetadata(msgspec.Struct, frozen=True, array_like=True):
    """One of the last batches of a producer, for the detection of duplicates."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    timestamp_ms: int


class ProducerState(msgspec.Struct, frozen=True, array_like=True):
    """One producer in one stream."""

    producer_id: int
    epoch: int
    batches: tuple[BatchMetadata, ...]
    """Oldest first; never empty."""
    seen_at_ms: int
    """The time when its last batch was committed."""


@dataclass(frozen=True, slots=True)
class Accept:
    """The batch is assigned the next offsets."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The batch was committed before, at this offset."""

    base_offset: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class Reject:
    """The batch must not be committed."""

    reason: Reason
    message: str


Verdict = Accept | Duplicate | Reject
ACCEPT: Final = Accept()


def check_sequence(
    state: ProducerState | None, batch: ProducerBatch, *, begins_with: int | None = None
) -> Verdict:
    """Check the next batch of a producer.

    `begins_with` is the only sequence that an unknown producer may begin with (None: any).
    """
    if state is None:
        return _check_unknown(batch, begins_with)
    if batch.epoch == state.epoch:
        return _check_same_epoch(state, batch)
    if batch.epoch < state.epoch:
        return Reject(
            Reason.STALE_EPOCH,
            f"producer {batch.producer_id} sent epoch {batch.epoch}, but epoch {state.epoch} is known",
        )
    if batch.base_sequence != 0:
        return Reject(
            Reason.OUT_OF_ORDER_SEQUENCE,
            f"producer {batch.producer_id} began epoch {batch.epoch} at sequence {batch.base_sequence}, "
            "but a new epoch begins at 0",
        )
    return ACCEPT


def _check_unknown(batch: ProducerBatch, begins_with: int | None) -> Verdict:
    if begins_with is None or batch.base_sequence == begins_with:
        return ACCEPT
    return Reject(
        Reason.OUT_OF_ORDER_SEQUENCE,
        f"producer {batch.producer_id} in epoch {batch.epoch} sent sequence {batch.base_sequence}, "
        f"but {begins_with} was lost and must be sent first",
    )


def _check_same_epoch(state: ProducerState, batch: ProducerBatch) -> Verdict:
    for known in state.batches:
        if (known.first_sequence, known.last_sequence) == (batch.base_sequence, batch.last_sequence):
            return Duplicate(known.base_offset, known.timestamp_ms)
    expected = (state.batches[-1].last_sequence + 1) % _SEQUENCES
    if batch.base_sequence != expected:
        return Reject(
            Reason.OUT_OF_ORDER_SEQUENCE,
            f"producer {batch.producer_id} in epoch {batch.epoch} sent sequence {batch.base_sequence}, "
            f"but {expected} is next",
        )
    return ACCEPT


def accepted(
    state: ProducerState | None, batch: ProducerBatch, *, base_offset: int, timestamp_ms: int, now_ms: int
) -> ProducerState:
    """Return the state after `batch` was assigned `base_offset`; also used to rebuild it from the index."""
    kept: tuple[BatchMetadata, ...] = ()
    if state is not None and state.epoch == batch.epoch:
        kept = state.batches[1 - BATCHES_RETAINED :]
    new = BatchMetadata(batch.base_sequence, batch.last_sequence, base_offset, timestamp_ms)
    return ProducerState(batch.producer_id, batch.epoch, (*kept, new), now_ms)
