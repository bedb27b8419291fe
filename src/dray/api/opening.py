"""Batches that the broker must look into or store in another codec: most are done at once, large ones apart.

Decompressing, compressing and stepping over the records of a compacted topic take time that all connections
would wait for. A thread costs some 70 µs; the slowest codec at its usual level gets through 4 KiB meanwhile,
the fastest through 32 KiB. What is larger than `AT_ONCE_BYTES`, or becomes larger when it is decompressed, is
given to a thread. The connection goes on with the next request only afterwards, so batches keep their order.
"""

from typing import Final

from dray.records import BatchRules, BatchTooLarge, Compression, ValidBatch, glance, recompressed
from dray.records.glance import PLAIN_BYTES_MAX
from dray.runtime import Threads

AT_ONCE_BYTES: Final = 16 * 1024


def must_open(batch: ValidBatch, rules: BatchRules, wanted: Compression | None) -> bool:
    """Whether the topic asks for more than a glance at the batch."""
    return rules.compacted or (wanted is not None and wanted.codec != batch.header.codec)


async def opened(
    batch: ValidBatch, rules: BatchRules, wanted: Compression | None, now_ms: int, threads: Threads
) -> ValidBatch:
    """Return the batch as the topic stores it; raises a `RecordError` if it cannot be."""
    if batch.header.size_bytes <= AT_ONCE_BYTES:
        try:
            return _open(batch, rules, wanted, now_ms, AT_ONCE_BYTES)
        except BatchTooLarge:
            pass  # as plain bytes, or for the topic; that is for the thread to find out
    return await threads.run(_open, batch, rules, wanted, now_ms, PLAIN_BYTES_MAX)


def _open(
    batch: ValidBatch, rules: BatchRules, wanted: Compression | None, now_ms: int, plain_bytes_max: int
) -> ValidBatch:
    glance(batch, rules, now_ms, plain_bytes_max)
    if wanted is None:
        return batch
    return recompressed(batch, wanted, rules.max_message_bytes, plain_bytes_max)
