"""Record batches from the rows of one partition, with the codec and limits of the topic."""

from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from typing_extensions import Buffer

from dray.formats.wal_v1 import ChunkDraft, PlacedChunk
from dray.ids import StreamId
from dray.index import BatchDraft
from dray.log.stages import batch_draft, first_timestamp
from dray.records import BatchHeader, TimestampType, ValidBatch, parse_header
from dray.records.columns import SCHEMA, encode
from dray.records.header import LOG_APPEND_BIT
from dray.records.recompress import recompressed
from dray.spark.errors import CannotWrite
from dray.spark.sink.columns import FrameColumns
from dray.spark.sink.write_target import WriteTarget

BATCH_BYTES: Final = 1 << 20
_ANY_BYTES: Final = 2**31 - 1
_COLUMNS: Final = pa.schema(
    [SCHEMA.field(name) for name in ("offset", "timestamp", "key", "value", "headers", "attributes")]
)


class MadeBatch(NamedTuple):
    """A batch as it is stored."""

    header: BatchHeader
    data: Buffer


class MadeChunk(NamedTuple):
    """The batches of one partition, in order."""

    stream: StreamId
    batches: list[MadeBatch]

    def draft(self) -> ChunkDraft:
        headers = [batch.header for batch in self.batches]
        return ChunkDraft(
            self.stream,
            [batch.data for batch in self.batches],
            record_count=sum(header.record_count for header in headers),
            min_timestamp_ms=min(map(first_timestamp, headers)),
            max_timestamp_ms=max(header.max_timestamp for header in headers),
        )

    def batch_drafts(self, placed: PlacedChunk) -> list[BatchDraft]:
        return [
            batch_draft(header, position)
            for (header, _), position in zip(self.batches, placed.batch_offsets, strict=True)
        ]


def make_chunk(rows: FrameColumns, partition: int, target: WriteTarget) -> MadeChunk:
    """Encode the batches of rows of one partition; raises `CannotWrite`."""
    _check_keys(rows, partition, target)
    count = len(rows.timestamp_ms)
    stamp = LOG_APPEND_BIT if target.rules.timestamp_type is TimestampType.LOG_APPEND else 0
    columns = [
        pa.array(np.arange(count, dtype=np.int64)),
        pa.array(rows.timestamp_ms * 1000).cast(_COLUMNS.field("timestamp").type),
        rows.key,
        rows.value,
        rows.headers,
        pa.array(np.full(count, stamp, np.int32)),
    ]
    records = pa.record_batch(columns, schema=_COLUMNS)
    encoded = encode(records, batch_bytes=min(BATCH_BYTES, max(target.rules.max_message_bytes, 1)))
    plain = [encoded.buffer[span.start : span.end] for span in encoded.spans]
    return MadeChunk(target.streams[partition], [_pack(batch, partition, target) for batch in plain])


def _pack(plain: memoryview, partition: int, target: WriteTarget) -> MadeBatch:
    """Compress a batch, unless that makes it larger."""
    batch = ValidBatch(parse_header(plain), (plain,), -1)
    packed = recompressed(batch, target.compression, _ANY_BYTES)
    if packed.header.size_bytes < batch.header.size_bytes:
        batch = packed
    limit = target.rules.max_message_bytes
    if batch.header.size_bytes > limit:
        raise CannotWrite(
            f"a row for partition {partition} makes a record of {batch.header.size_bytes} bytes; "
            f"max.message.bytes of {target.topic.name} is {limit}"
        )
    return MadeBatch(batch.header, batch.buffer)


def _check_keys(rows: FrameColumns, partition: int, target: WriteTarget) -> None:
    if target.rules.compacted and rows.key.null_count:
        raise CannotWrite(
            f"{rows.key.null_count} rows for partition {partition} have no key; "
            f"{target.topic.name} is compacted by key and needs one in every row"
        )
