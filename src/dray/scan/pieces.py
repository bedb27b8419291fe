"""Decoding of entry ranges into rows. Synchronous and without a store: the caller reads the bytes.

An entry range is read in *pieces*, each of which names the byte range it needs and decodes those bytes. Of a
row group only the requested columns are read, as one byte range from the first of them to the last; of a
chunk only the requested batches. A batch that cannot become rows, because it is damaged or its producer sent
unreadable records, is an error, as it is for Kafka's consumers: its records are not skipped.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import pyarrow as pa
from typing_extensions import Buffer

from dray.formats.parquet_v1 import Footer, ParquetError, read_footer, read_group
from dray.index import BatchRow, IndexEntry, ParquetEntry, WalEntry
from dray.log.errors import LogDamaged, entry_damaged
from dray.log.row_groups import tail_range
from dray.log.stages import is_indexed
from dray.objects.port import ByteRange, OutOfRange
from dray.records.columns import DamagedBatch, OversizedBatch, StoredBatch, UnconvertibleBatch, decode
from dray.scan.ranges import EntryRange, Read, group_offsets
from dray.scan.unreadable import ObjectUnreadable

OFFSET = "offset"


@contextmanager
def report_entry_damage(entry: IndexEntry, where: str = "") -> Iterator[None]:
    """Raise errors that mean damaged bytes as `LogDamaged`, which names the records of the entry."""
    try:
        yield
    except OutOfRange as error:
        raise entry_damaged(entry, f"the object is truncated: {error}", where) from error
    except (DamagedBatch, OversizedBatch, UnconvertibleBatch, ParquetError, ObjectUnreadable) as error:
        raise entry_damaged(entry, error, where) from error


def report_range_damage(entry_range: EntryRange) -> AbstractContextManager[None]:
    """As `report_entry_damage`, also naming the partition."""
    return report_entry_damage(entry_range.entry, f"partition {entry_range.partition}")


def object_missing(entry_range: EntryRange) -> LogDamaged:
    return entry_damaged(entry_range.entry, "there is no such object", f"partition {entry_range.partition}")


def stored_batch(entry: WalEntry, row: BatchRow, batch: memoryview) -> StoredBatch:
    """Return a batch of an entry to be decoded; raises `DamagedBatch` if it is not the one in the index."""
    base = entry.start_offset + row.start_delta
    if not is_indexed(batch, row):
        raise DamagedBatch(base, "its header is not the one that was stored")
    return StoredBatch(base, batch)


def _slice_offsets(rows: pa.RecordBatch, first_offset: int, end_offset: int) -> pa.RecordBatch:
    """Return the rows of an offset range, without copying them."""
    offsets = rows.column(OFFSET).to_numpy()
    first, end = offsets.searchsorted([first_offset, end_offset])
    return rows.slice(int(first), int(end - first))


@dataclass(frozen=True, slots=True)
class ChunkPiece:
    """The requested batches of a chunk of a WAL object, read as one byte range."""

    entry_range: EntryRange
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
        view, start, entry_range = memoryview(data), self._start, self.entry_range
        with report_range_damage(entry_range):
            batches = [
                stored_batch(self.entry, row, view[row.position - start :][: row.length])
                for row in self.batches
            ]
            decoded = list(decode(entry_range.partition, batches))
        return [_slice_offsets(rows, entry_range.first_offset, entry_range.end_offset) for rows in decoded]

    @property
    def _start(self) -> int:
        return self.batches[0].position


@dataclass(frozen=True, slots=True)
class GroupPiece:
    """The requested columns of a row group of a Parquet file, read as one byte range."""

    entry_range: EntryRange
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
        return Read(self.entry_range.entry.path, ByteRange(start, max(end for _, end in spans) - start))

    def rows(self, data: Buffer) -> list[pa.RecordBatch]:
        """Decode the bytes; raises `LogDamaged`."""
        entry_range = self.entry_range
        with report_range_damage(entry_range):
            rows = read_group(self.footer, self.number, self.read.at.start, data, self.columns)
        return [_slice_offsets(rows, entry_range.first_offset, entry_range.end_offset)]


Piece = ChunkPiece | GroupPiece


def pieces_of(entry_range: EntryRange, footer: Footer | None, columns: Sequence[str]) -> Iterator[Piece]:
    """Divide an entry range into pieces; an entry range of a Parquet file needs the file's footer."""
    entry = entry_range.entry
    if isinstance(entry, WalEntry):
        base = entry.start_offset
        reaching = entry.rows.reaching(entry_range.first_offset - base)
        if batches := [row for row in reaching if base + row.start_delta < entry_range.end_offset]:
            yield ChunkPiece(entry_range, entry, batches)
        return
    assert footer is not None
    for number in range(len(entry.groups)):
        first, end = group_offsets(entry, number)
        if first < entry_range.end_offset and end > entry_range.first_offset:
            yield GroupPiece(entry_range, footer, number, columns)


def footer_read(entry: ParquetEntry) -> Read:
    return Read(entry.path, tail_range(entry))


def footer_of(entry_range: EntryRange, entry: ParquetEntry, tail: Buffer) -> Footer:
    """Decode the footer at the end of a file; raises `LogDamaged`."""
    with report_range_damage(entry_range):
        return read_footer(tail, entry.footer_crc)


def _span(column: "pa.parquet.ColumnChunkMetaData") -> tuple[int, int]:
    start = column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
    return start, start + column.total_compressed_size
