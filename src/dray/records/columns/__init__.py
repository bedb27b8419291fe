"""Record batches converted to Arrow columns and back, by compiled kernels.

For work that touches every record: compaction of the log to tables, and fetches served from them.
`dray.records` does not import this package, because a broker must not load numba and pyarrow before it needs
them; its users need `dray[tables]`.
"""

import dray.records.columns.compiled  # noqa: F401  # first: it reports what to install if numba is missing
from dray.records.columns.decode import CHUNK_BYTES, Decoded, decode, decode_convertible
from dray.records.columns.decode_kernel import MILLIS_MAX
from dray.records.columns.encode import (
    BATCH_BYTES,
    SPAN_MAX,
    BatchSpan,
    EncodedBatches,
    encode,
    encode_in_parts,
)
from dray.records.columns.errors import DamagedBatch, OversizedBatch, UnconvertibleBatch
from dray.records.columns.last_offsets import SEED_BYTES, DamagedKeys, LastOffsets, valid
from dray.records.columns.opened import StoredBatch, consecutive
from dray.records.columns.schema import LATIN_1, SCHEMA, rows_from
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
    "Decoded",
    "EncodedBatches",
    "LastOffsets",
    "OversizedBatch",
    "StoredBatch",
    "UnconvertibleBatch",
    "consecutive",
    "decode",
    "decode_convertible",
    "encode",
    "encode_in_parts",
    "rows_from",
    "valid",
]
