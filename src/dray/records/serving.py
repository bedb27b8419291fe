"""Batches as a fetch serves them: stored ones with their offsets, empty ones for offsets without records.

A batch is stored as it came, with base offset 0. Base offset and leader epoch are the first 16 bytes, outside
the CRC, so a batch is served by replacing those 16 bytes; the rest is sent from the buffer it was read into.

Where key compaction or damage has left no record up to the end of the log, a consumer that got no batch would
fetch the same offset forever. Apache Kafka keeps the header of the last batch for it, and clients continue
after the last offset in a header. Here no such header is stored; an empty batch is made when it is served.
"""

from typing import Final

from dray.records.header import (
    BROKER_FIELDS,
    HEADER_BYTES,
    LENGTH_END,
    MAGIC_V2,
    NO_PRODUCER,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    BatchHeader,
    checksummed,
)

EMPTY_BATCH_SPAN_MAX: Final = 2**31
"""How many offsets one empty batch can cover."""


def with_offsets(batch: memoryview, base_offset: int, leader_epoch: int) -> tuple[bytes, memoryview]:
    """Return 16 new bytes and a view of the rest of this one batch."""
    return BROKER_FIELDS.pack(base_offset, len(batch) - LENGTH_END, leader_epoch), batch[BROKER_FIELDS.size :]


def empty_batch(base_offset: int, last_offset: int, leader_epoch: int) -> bytes:
    """Return a batch without records for the offsets from the first to the last."""
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=HEADER_BYTES - LENGTH_END,
        leader_epoch=leader_epoch,
        magic=MAGIC_V2,
        crc=0,
        attributes=0,
        last_offset_delta=last_offset - base_offset,
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=NO_TIMESTAMP,
        producer_id=NO_PRODUCER,
        producer_epoch=-1,
        base_sequence=NO_SEQUENCE,
        record_count=0,
    )
    return checksummed(header, b"")[1]
