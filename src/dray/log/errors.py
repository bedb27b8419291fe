"""Errors of the log, sorted by what the caller must do.

LogError
├── StreamUnknown         no such stream: fix the request
├── OffsetOutOfRange      no such offset: reset the position
├── SequenceRejected      an idempotent producer's batch is out of sequence: retry as Kafka's clients do
├── LogClosed             this process is shutting down: use another broker
├── NotStored             nothing was committed: retry the same batch
├── StoreUnavailable      a store is unavailable: retry later
├── OutcomeUncertain      it may have been committed: a retry may duplicate it
└── LogDamaged            committed records cannot be read: an operator must act
"""

from typing import Final

from dray.ids import StreamId
from dray.index import BatchRow, IndexEntry, WalEntry
from dray.producers import Reason


class LogError(Exception):
    """The log did not do what was asked."""


class StreamUnknown(LogError):
    """There is no such stream, or no more."""

    def __init__(self, stream: StreamId) -> None:
        super().__init__(f"stream {stream:016x} does not exist")
        self.stream = stream


class OffsetOutOfRange(LogError):
    """The offset is before the log's start or after its end."""

    def __init__(self, stream: StreamId, offset: int, log_start: int, high_watermark: int) -> None:
        super().__init__(
            f"stream {stream:016x} holds offsets {log_start} to {high_watermark}, not {offset}; "
            "start again from its first or its last offset"
        )
        self.offset = offset
        self.log_start = log_start
        self.high_watermark = high_watermark


class SequenceRejected(LogError):
    """An idempotent producer's batch does not follow what was committed."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class LogClosed(LogError):
    """The log was closed."""


class NotStored(LogError):
    """Nothing was committed, and nothing will be."""


class OutcomeUncertain(LogError):
    """The metadata store stayed out of reach in the middle of a commit."""


class StoreUnavailable(LogError):
    """A store did not answer; nothing was changed, and what is committed is safe."""


class LogDamaged(LogError):
    """The index names records that are not where it says, or cannot be read; says what an operator can do.

    `path` is the object that they are in, if it is known.
    """

    def __init__(self, what: str, remedy: str, path: str = "") -> None:
        super().__init__(f"{what}; {remedy}")
        self.path = path


RESTORE_METADATA: Final = "restore the metadata store from a backup, or delete the topic"


def entry_damaged(entry: IndexEntry, why: object, where: str = "") -> LogDamaged:
    """Say which records cannot be read, in which object, and what can be done about it."""
    where = where or f"stream {entry.stream:016x}"
    path, first, end = entry.path, entry.start_offset, entry.end_offset
    return LogDamaged(
        f"{where}: offsets {first} to {end - 1} are in {path}, and {why}",
        f"restore {path} from a backup, or delete records up to offset {end}",
        path,
    )


def batch_damaged(entry: IndexEntry, row: BatchRow) -> LogDamaged:
    """Return the error for a batch of an entry that is not in its object as it was stored."""
    at = row.position + (entry.chunk_offset if isinstance(entry, WalEntry) else 0)
    return entry_damaged(
        entry, f"the {row.length} bytes at byte {at} are not the batch that was stored there"
    )
