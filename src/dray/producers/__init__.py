"""Idempotent producers: sequence checks, snapshot and replay. Pure."""

from dray.producers.snapshot import (
    CorruptSnapshot,
    ProducerTable,
    decode_snapshot,
    encode_snapshot,
    unexpired,
)
from dray.producers.state import (
    BATCHES_RETAINED,
    NO_PRODUCER,
    Accept,
    BatchMetadata,
    Duplicate,
    ProducerBatch,
    ProducerState,
    Reason,
    Reject,
    Verdict,
    accepted,
    check_sequence,
)

__all__ = [
    "BATCHES_RETAINED",
    "NO_PRODUCER",
    "Accept",
    "BatchMetadata",
    "CorruptSnapshot",
    "Duplicate",
    "ProducerBatch",
    "ProducerState",
    "ProducerTable",
    "Reason",
    "Reject",
    "Verdict",
    "accepted",
    "check_sequence",
    "decode_snapshot",
    "encode_snapshot",
    "unexpired",
]
