"""The log: streams of record batches made of WAL objects and an offset index."""

from dray.log.errors import (
    LogClosed,
    LogDamaged,
    LogError,
    NotStored,
    OffsetOutOfRange,
    OutcomeUncertain,
    SequenceRefused,
    StoreAway,
    StreamUnknown,
)
from dray.log.log import Log
from dray.log.metrics import LogMetrics
from dray.log.offsets import TimedOffset
from dray.log.parts import LogParts
from dray.log.reader import LEADER_EPOCH, Slice, let_go
from dray.log.settings import LogSettings
from dray.log.stages import Appended
from dray.log.trim import Trimmer

__all__ = [
    "LEADER_EPOCH",
    "Appended",
    "Log",
    "LogClosed",
    "LogDamaged",
    "LogError",
    "LogMetrics",
    "LogParts",
    "LogSettings",
    "NotStored",
    "OffsetOutOfRange",
    "OutcomeUncertain",
    "SequenceRefused",
    "Slice",
    "StoreAway",
    "StreamUnknown",
    "TimedOffset",
    "Trimmer",
    "let_go",
]
