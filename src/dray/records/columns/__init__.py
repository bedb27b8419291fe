"""Record batches to Arrow columns and back, by compiled kernels.

For what touches every record: rewriting the log as tables, and serving fetches from them. `dray.records`
does not import this package, because a broker must not carry numba and pyarrow before it needs them;
whoever imports it needs `dray[tables]`.
"""

import dray.records.columns.compiled  # noqa: F401  # first: it says what to install when numba is missing
from dray.records.columns.decode import CHUNK_BYTES, decode, decode_readable
from dray.records.columns.decode_kernel import MILLIS_MAX
from dray.records.columns.encode import (
    BATCH_BYTES,
    SPAN_MAX,
    BatchSpan,
    EncodedBatches,
    encode,
    encode_in_parts,
)
from dray.records.columns.errors import DamagedBatch, OversizedBatch, UnreadableBatch
from dray.records.columns.last_offsets import SEED_BYTES, DamagedKeys, LastOffsets, valid
from dray.records.columns.opened import StoredBatch, consecutive
from dray.records.columns.rows import since
from dray.records.columns.schema import LATIN_1, SCHEMA
from dray.records.columns.sources import NEEDED

__all__ = [
    "BATCH_BYTES",
    "CHUNK_BYTES",
    "LATIN_1",
    "MILLIS_MAX",
    "NEEDED",
    "SCHEMA",
    "SEED_BYTES",
    "SPAN_MAX",
    "BatchSpan",
    "DamagedBatch",
    "DamagedKeys",
    "EncodedBatches",
    "LastOffsets",
    "OversizedBatch",
    "StoredBatch",
    "UnreadableBatch",
    "consecutive",
    "decode",
    "decode_readable",
    "encode",
    "encode_in_parts",
    "since",
    "valid",
]
