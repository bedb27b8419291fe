"""Arrow schema of records, as `formats.parquet_v1` stores them; a test compares the two.

The columns of the producer are null. `attributes` are those of the record's batch (the codec that it was sent
in, its timestamp type, whether it was transactional), with `LATIN_1` above them.
"""

from typing import Final

import numpy as np
import pyarrow as pa

LATIN_1: Final = 1 << 16
"""In the attributes of a row, above the 16 bits of the batch: its header keys are bytes read as Latin-1."""
HEADER: Final = pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())])
HEADERS: Final = pa.list_(pa.field("element", HEADER, nullable=False))
TIMESTAMP: Final = pa.timestamp("us", "UTC")
SCHEMA: Final = pa.schema(
    [
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", TIMESTAMP, nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", HEADERS, nullable=False),
        pa.field("producer_id", pa.int64()),
        pa.field("producer_epoch", pa.int32()),
        pa.field("base_sequence", pa.int32()),
        pa.field("attributes", pa.int32(), nullable=False),
        pa.field("record_crc", pa.int32()),
    ]
)


def rows_from(rows: pa.RecordBatch, first_offset: int) -> pa.RecordBatch:
    """Return the rows from an offset on, without copying them; it may be in a gap, or after them all."""
    offsets = rows.column("offset").to_numpy()
    return rows.slice(int(np.searchsorted(offsets, first_offset)))
