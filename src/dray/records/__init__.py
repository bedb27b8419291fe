"""Kafka record batches (version 2): reading, checking, stamping, serving, compressing. Pure: bytes in,
values out.

Theory: the 61-byte header of a batch says all that a broker needs, and the two numbers a broker must set
lie outside the checksum. So the hot path (`parse_header`, `validate`, `served`, `iter_batches`) works on
headers and views, never on records. What does look inside (`check_payload`, `encode_batch`, `decode_batch`)
is plain and slow.
"""

from dray.records.checksum import crc32c
from dray.records.codecs import Codec, compress, decompress
from dray.records.errors import (
    BatchTooLarge,
    CorruptBatch,
    ErrorCode,
    InvalidBatch,
    InvalidTimestamp,
    RecordError,
    RecordFault,
    UnsupportedCodec,
)
from dray.records.gap import GAP_SPAN_MAX, gap_batch
from dray.records.glance import glance
from dray.records.header import (
    HEADER_BYTES,
    NO_PRODUCER,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    SEQUENCE_MAX,
    BatchHeader,
    TimestampType,
    claimed_bytes,
    parse_header,
    sequence_after,
)
from dray.records.payload import PayloadFacts, check_payload
from dray.records.recompress import Compression, recompressed
from dray.records.record import Record, decode_batch, encode_batch
from dray.records.rules import BatchRules
from dray.records.serve import served
from dray.records.split import iter_batches
from dray.records.stamp import Stamped, create_time, log_append_time
from dray.records.validate import ValidBatch, validate

__all__ = [
    "GAP_SPAN_MAX",
    "HEADER_BYTES",
    "NO_PRODUCER",
    "NO_SEQUENCE",
    "NO_TIMESTAMP",
    "SEQUENCE_MAX",
    "BatchHeader",
    "BatchRules",
    "BatchTooLarge",
    "Codec",
    "Compression",
    "CorruptBatch",
    "ErrorCode",
    "InvalidBatch",
    "InvalidTimestamp",
    "PayloadFacts",
    "Record",
    "RecordError",
    "RecordFault",
    "Stamped",
    "TimestampType",
    "UnsupportedCodec",
    "ValidBatch",
    "check_payload",
    "claimed_bytes",
    "compress",
    "crc32c",
    "create_time",
    "decode_batch",
    "decompress",
    "encode_batch",
    "gap_batch",
    "glance",
    "iter_batches",
    "log_append_time",
    "parse_header",
    "recompressed",
    "sequence_after",
    "served",
    "validate",
]
