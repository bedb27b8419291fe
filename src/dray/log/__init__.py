"""The log: streams of record batches made of WAL objects and an offset index."""

from dray.log.deps import LogDeps, LogMetrics
from dray.log.errors import (
    LogClosed,
    LogDamaged,
    LogError,
    NotStored,
    OffsetOutOfRange,
    OutcomeUncertain,
    SequenceRejected,
    StoreUnavailable,
    StreamUnknown,
)
from dray.log.log import Log
from dray.log.offsets import TimedOffset
from dray.log.reader import LEADER_EPOCH, FetchSlice, detach_buffers
from dray.log.settings import LogSettings
from dray.log.stages import Appended
from dray.log.stream_watch import StreamWatch
from dray.log.streams import StreamWriter
from dray.log.trim import Trimmer

__all__ = [
    "LEADER_EPOCH",
    "Appended",
    "FetchSlice",
    "Log",
    "LogClosed",
    "LogDamaged",
    "LogDeps",
    "LogError",
    "LogMetrics",
    "LogSettings",
    "NotStored",
    "OffsetOutOfRange",
    "OutcomeUncertain",
    "SequenceRejected",
    "StoreUnavailable",
    "StreamUnknown",
    "StreamWatch",
    "StreamWriter",
    "TimedOffset",
    "Trimmer",
    "detach_buffers",
]
