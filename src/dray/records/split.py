"""Cutting a run of batches at batch boundaries. Batches are views of the buffer they came in; nothing is
copied."""

from collections.abc import Iterator

from dray.records.errors import CorruptBatch
from dray.records.header import HEADER_BYTES, BatchHeader, parse_header


def iter_batches(
    batches: memoryview, *, partial_tail: bool = False
) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Yield each batch with its header.

    What a fetch returned from Apache Kafka may end inside a batch: `partial_tail` leaves that rest out.
    """
    position = 0
    while position < len(batches):
        if partial_tail and _is_partial(batches, position):
            return
        header, end = _batch_at(batches, position)
        yield header, batches[position:end]
        position = end


def _batch_at(batches: memoryview, position: int) -> tuple[BatchHeader, int]:
    header = parse_header(batches, position)
    end = position + header.size_bytes
    if header.size_bytes < HEADER_BYTES or end > len(batches):
        raise CorruptBatch(
            f"a batch at byte {position} claims {header.size_bytes} bytes, "
            f"there are {len(batches) - position} and the least is {HEADER_BYTES}"
        )
    return header, end


def _is_partial(batches: memoryview, position: int) -> bool:
    left = len(batches) - position
    return left < HEADER_BYTES or parse_header(batches, position).size_bytes > left
