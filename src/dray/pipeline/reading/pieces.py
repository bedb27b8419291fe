"""From the bytes of a stretch to its rows. Synchronous and without a store: who calls reads the bytes.

A stretch is read in *pieces*: each says which range of which object it needs, and makes rows of those bytes.
Of a row group only the columns that are wanted are read, as one range of the file from the first of them to
the last; of a chunk only the batches that are wanted. A batch that its producer made unreadable, so that no
client can read it either, has no rows here, as it has none in the table.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import pyarrow as pa
from typing_extensions import Buffer

from dray.formats.parquet_v1 import Footer, read_footer, read_group
from dray.index import BatchRow, ParquetEntry, WalEntry
from dray.log.errors import LogDamaged, entry_damaged
from dray.log.row_groups import tail_range
from dray.objects.port import ByteRange
from dray.pipeline.damage import telling_of
from dray.pipeline.reading.stretches import Stretch, group_offsets
from dray.pipeline.reads import Read
from dray.records.columns import StoredBatch, decode_readable

OFFSET = "offset"


def telling(stretch: Stretch) -> AbstractContextManager[None]:
    """Raise `LogDamaged` for a stretch whose object turns out to be damaged."""
    return telling_of(stretch.entry, f"partition {stretch.partition}")


def missing(stretch: Stretch) -> LogDamaged:
    return entry_damaged(stretch.entry, "there is no such object", f"partition {stretch.partition}")


def between(rows: pa.RecordBatch, first_offset: int, end_offset: int) -> pa.RecordBatch:
    """Return the rows of a range of offsets, without copying them."""
    offsets = rows.column(OFFSET).to_numpy()
    first, end = offsets.searchsorted([first_offset, end_offset])
    return rows.slice(int(first), int(end - first))


@dataclass(frozen=True, slots=True)
class ChunkPiece:
    """What is wanted of a chunk of a WAL object: from the first batch that is wanted to the last."""

    stretch: Stretch
    entry: WalEntry
    batches: Sequence[BatchRow]

    @property
    def read(self) -> Read:
        last = self.batches[-1]
        return Read(
            self.entry.path,
            ByteRange(self.entry.chunk_offset + self._start, last.position + last.length - self._start),
        )

    def rows(self, data: Buffer) -> list[pa.RecordBatch]:
        """Decode the bytes; raises `LogDamaged`."""
        view, start, base = memoryview(data), self._start, self.entry.start_offset
        batches = [
            StoredBatch(
                base + row.start_delta, view[row.position - start : row.position - start + row.length]
            )
            for row in self.batches
        ]
        stretch = self.stretch
        with telling(stretch):
            found, _ = decode_readable(stretch.partition, batches)
        return [between(rows, stretch.first_offset, stretch.end_offset) for rows in found]

    @property
    def _start(self) -> int:
        return self.batches[0].position


@dataclass(frozen=True, slots=True)
class GroupPiece:
    """What is wanted of a row group of a Parquet file."""

    stretch: Stretch
    footer: Footer
    number: int
    columns: Sequence[str]

    @property
    def read(self) -> Read:
        group = self.footer.metadata.row_group(self.number)
        spans = [
            _span(column)
            for column in map(group.column, range(group.num_columns))
            if column.path_in_schema.partition(".")[0] in self.columns
        ]
        start = min(first for first, _ in spans)
        return Read(self.stretch.entry.path, ByteRange(start, max(end for _, end in spans) - start))

    def rows(self, data: Buffer) -> list[pa.RecordBatch]:
        """Decode the bytes; raises `LogDamaged`."""
        stretch = self.stretch
        with telling(stretch):
            rows = read_group(self.footer, self.number, self.read.at.start, data, self.columns)
        return [between(rows, stretch.first_offset, stretch.end_offset)]


Piece = ChunkPiece | GroupPiece


def pieces_of(stretch: Stretch, footer: Footer | None, columns: Sequence[str]) -> Iterator[Piece]:
    """Cut a stretch into what is read at a time; one of a Parquet file needs that file's footer."""
    entry = stretch.entry
    if isinstance(entry, WalEntry):
        base = entry.start_offset
        reaching = entry.rows.reaching(stretch.first_offset - base)
        if batches := [row for row in reaching if base + row.start_delta < stretch.end_offset]:
            yield ChunkPiece(stretch, entry, batches)
        return
    assert footer is not None
    for number in range(len(entry.groups)):
        first, end = group_offsets(entry, number)
        if first < stretch.end_offset and end > stretch.first_offset:
            yield GroupPiece(stretch, footer, number, columns)


def footer_read(entry: ParquetEntry) -> Read:
    return Read(entry.path, tail_range(entry))


def footer_of(stretch: Stretch, entry: ParquetEntry, tail: Buffer) -> Footer:
    """Read what the end of a file tells; raises `LogDamaged`."""
    with telling(stretch):
        return read_footer(tail, entry.footer_crc)


def _span(column: "pa.parquet.ColumnChunkMetaData") -> tuple[int, int]:
    start = column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
    return start, start + column.total_compressed_size
