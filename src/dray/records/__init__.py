"""Kafka record batches (version 2): validation, timestamps, compression, serving. Pure: bytes in, values out.

The 61-byte header of a batch holds all that a broker needs, and the two numbers that a broker must set are
outside the checksum. So the hot path (`parse_header`, `validate`, `with_offsets`, `iter_batches`) works on
headers and views. `shallow_validate` steps over a few records; everything that reads them (`check_payload`,
`encode_batch`, `decode_batch`) is plain and slow. Compiled kernels are in `columns`.
"""

from dray.records.codecs import Codec, compress, decompress
from dray.records.errors import (
    BatchTooLarge,
    CorruptBatch,
    InvalidBatch,
    InvalidTimestamp,
    RecordError,
    RecordFault,
    UnsupportedCodec,
)
from dray.records.header import (
    HEADER_BYTES,
    NO_PRODUCER,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    BatchHeader,
    TimestampType,
    claimed_bytes,
    is_intact,
    iter_batches,
    parse_header,
)
from dray.records.payload import PayloadFacts, check_payload
from dray.records.primitives import crc32c
from dray.records.recompress import Compression, recompressed
from dray.records.record import Record, decode_batch, encode_batch
from dray.records.rules import BatchRules, Stamped, create_time, has_doubtful_times, log_append_time
from dray.records.serving import EMPTY_BATCH_SPAN_MAX, empty_batch, with_offsets
from dray.records.shallow_validate import shallow_validate, validate_records
from dray.records.validate import ValidBatch, validate

__all__ = [
    "EMPTY_BATCH_SPAN_MAX",
    "HEADER_BYTES",
    "NO_PRODUCER",
    "NO_SEQUENCE",
    "NO_TIMESTAMP",
    "BatchHeader",
    "BatchRules",
    "BatchTooLarge",
    "Codec",
    "Compression",
    "CorruptBatch",
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
    "empty_batch",
    "encode_batch",
    "has_doubtful_times",
    "is_intact",
    "iter_batches",
    "log_append_time",
    "parse_header",
    "recompressed",
    "shallow_validate",
    "validate",
    "validate_records",
    "with_offsets",
]
