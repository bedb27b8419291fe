"""Setting a batch's timestamps in the broker's name.

On a topic with log-append time the broker sets attribute bit 3 and maxTimestamp; on one with create time it
clears a bit 3 that a producer had no business setting. Both lie under the CRC, so that is computed anew:
over the payload where it lies, without copying it.
"""

from typing import NamedTuple

from dray.records.header import HEADER_BYTES, LOG_APPEND_BIT, BatchHeader, checksummed


class Stamped(NamedTuple):
    """A batch in two pieces, 61 new bytes and the payload as a view; `header` reads the new bytes."""

    header: BatchHeader
    head: bytes
    payload: memoryview


def log_append_time(batch: memoryview, header: BatchHeader, now_ms: int) -> Stamped:
    """Return the batch with every record's time set to `now_ms`."""
    return _stamped(batch, header, header.attributes | LOG_APPEND_BIT, now_ms)


def create_time(batch: memoryview, header: BatchHeader, max_timestamp: int) -> Stamped:
    """Return the batch with its records' own times in force; `max_timestamp` is their highest."""
    return _stamped(batch, header, header.attributes & ~LOG_APPEND_BIT, max_timestamp)


def _stamped(batch: memoryview, header: BatchHeader, attributes: int, max_timestamp: int) -> Stamped:
    payload = batch[HEADER_BYTES:]
    wanted = header._replace(attributes=attributes, max_timestamp=max_timestamp)
    fresh, head = checksummed(wanted, payload)
    return Stamped(fresh, head, payload)
