"""A batch without records, which stands for offsets that have none any more.

Where cleaning or damage has left nothing up to the end of the log, a consumer that got no batch would ask for
the same offset for ever. Kafka keeps the header of the last batch for it, and clients go on behind the last
offset that a header tells. Nothing of the kind is stored here; the batch is made when it is served.
"""

from typing import Final

from dray.records.header import (
    HEADER_BYTES,
    LENGTH_END,
    MAGIC_V2,
    NO_PRODUCER,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    BatchHeader,
    checksummed,
)

GAP_SPAN_MAX: Final = 2**31
"""Offsets that one batch can stand for."""


def gap_batch(base_offset: int, last_offset: int, leader_epoch: int) -> bytes:
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
