"""Idempotent producers: sequence checks, snapshot and replay. Pure."""

from dray.producers.snapshot import (
    CorruptSnapshot,
    ProducerTable,
    decode_snapshot,
    encode_snapshot,
    unexpired,
)
from dray.producers.state import (
    NO_PRODUCER,
    REMEMBERED_BATCHES,
    Accept,
    Duplicate,
    ProducerBatch,
    ProducerState,
    Reason,
    Refuse,
    Remembered,
    Verdict,
    accepted,
    judge,
)

__all__ = [
    "NO_PRODUCER",
    "REMEMBERED_BATCHES",
    "Accept",
    "CorruptSnapshot",
    "Duplicate",
    "ProducerBatch",
    "ProducerState",
    "ProducerTable",
    "Reason",
    "Refuse",
    "Remembered",
    "Verdict",
    "accepted",
    "decode_snapshot",
    "encode_snapshot",
    "judge",
    "unexpired",
]
