"""Validation of all records of a batch, and its compression in the codec of its topic.

Decompressing, compressing and reading records take time for which all connections would wait. Handing a batch
to a thread costs some 70 µs, in which the slowest codec at its default level processes 4 KiB and the fastest
32 KiB. So batches above `INLINE_BYTES_MAX`, compressed or not, are processed in a thread. The connection
continues with its next request only afterwards, so batches keep their order.
"""

from typing import Final

from dray.records import (
    BatchRules,
    BatchTooLarge,
    Compression,
    ValidBatch,
    has_doubtful_times,
    recompressed,
    validate_records,
)
from dray.records.shallow_validate import PLAIN_BYTES_MAX
from dray.runtime import Threads

INLINE_BYTES_MAX: Final = 16 * 1024


def must_read_records(batch: ValidBatch, rules: BatchRules, wanted: Compression | None, now_ms: int) -> bool:
    """Return whether every record must be read: for the topic, or because the header contradicts itself."""
    return (
        rules.compacted
        or (wanted is not None and wanted.codec != batch.header.codec)
        or has_doubtful_times(batch.header, rules, now_ms)
    )


async def reencode(
    batch: ValidBatch, rules: BatchRules, wanted: Compression | None, now_ms: int, threads: Threads
) -> ValidBatch:
    """Return the batch, validated, as the topic stores it; raises a `RecordError` if it is invalid."""
    if batch.header.size_bytes <= INLINE_BYTES_MAX:
        try:
            return _reencode(batch, rules, wanted, now_ms, INLINE_BYTES_MAX)
        except BatchTooLarge:
            pass  # for processing inline, or for the topic: the thread finds out
    return await threads.run(_reencode, batch, rules, wanted, now_ms, PLAIN_BYTES_MAX)


def _reencode(
    batch: ValidBatch, rules: BatchRules, wanted: Compression | None, now_ms: int, plain_bytes_max: int
) -> ValidBatch:
    read = validate_records(batch, rules, now_ms, plain_bytes_max)
    if wanted is None:
        return read
    return recompressed(read, wanted, rules.max_message_bytes, plain_bytes_max)
