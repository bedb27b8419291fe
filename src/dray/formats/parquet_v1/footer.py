"""Footers of compacted files: the row groups, their offsets and timestamps, and the positions of their bytes.

A file ends with its footer, the footer's length in 4 bytes, and `PAR1`. The offset index has the length, so
that a reader reads exactly that much; a reader without it tries a size, and `FooterCut` has the right one if
that was too little. Positions count from the start of the file, so the rest of it is not needed.

A damaged footer can crash the process inside pyarrow. So the writer stores the footer's checksum in the
offset index, and a reader passes it here to detect the damage before pyarrow parses the footer.
"""

from dataclasses import dataclass
from struct import Struct
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from crc32c import crc32c
from typing_extensions import Buffer

from dray.formats.parquet_v1.errors import CorruptParquet, FooterCut, ForeignParquet

_END: Final = Struct("<I4s")
_MAGIC: Final = b"PAR1"
_MICROS: Final = 1000
_UNREADABLE: Final = (pa.ArrowException, OSError, ValueError)
"""Errors of pyarrow for bytes that it cannot read; ValueError for names that are not text."""


class RowGroup(NamedTuple):
    """One row group of a file; bytes `position` to `position + length` suffice to read it."""

    first_offset: int
    last_offset: int
    position: int
    length: int
    row_count: int
    min_timestamp_ms: int
    max_timestamp_ms: int


@dataclass(frozen=True, slots=True)
class Footer:
    """The footer of a file; it is read from the last `tail_bytes` of the file."""

    metadata: pq.FileMetaData
    tail_bytes: int


def tail_crc(tail: Buffer) -> int:
    """Return the CRC-32C of a footer, from the end of its file."""
    return crc32c(tail)


def read_footer(tail: Buffer, crc: int | None = None) -> Footer:
    """Read the footer from the last bytes of a file; raises `FooterCut` if they are too few.

    `crc` is the `tail_crc` of the written file. Without it the bytes must be trusted.
    """
    view = memoryview(tail)
    if len(view) < _END.size:
        raise FooterCut(len(view), _END.size)
    length, magic = _END.unpack_from(view, len(view) - _END.size)
    if magic != _MAGIC:
        raise CorruptParquet(f"the file ends with {magic!r}, Parquet ends with {_MAGIC!r}")
    needed = length + _END.size
    if needed > len(view):
        raise FooterCut(len(view), needed)
    footer = view[len(view) - needed :]
    if crc is not None and tail_crc(footer) != crc:
        raise CorruptParquet(f"the footer should have CRC {crc:08x}, it has {tail_crc(footer):08x}")
    try:
        metadata = pq.read_metadata(pa.BufferReader(footer))
    except _UNREADABLE as error:
        raise CorruptParquet(f"the footer cannot be read: {error}") from error
    return Footer(metadata, needed)


def row_groups(footer: Footer) -> tuple[RowGroup, ...]:
    """Return the groups in the order of the file; `ForeignParquet` if offset statistics are missing."""
    metadata = footer.metadata
    try:
        columns = {metadata.schema.column(number).path: number for number in range(metadata.num_columns)}
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        return tuple(_row_group(group, columns) for group in groups)
    except _UNREADABLE as error:
        raise CorruptParquet(f"the row groups cannot be read: {error}") from error


def _row_group(group: Any, columns: dict[str, int]) -> RowGroup:  # noqa: ANN401  # pyarrow has no types
    first_offset, last_offset = _bounds(group, columns, "offset")
    earliest, latest = _bounds(group, columns, "timestamp")
    position, length = _byte_range(group)
    return RowGroup(
        first_offset,
        last_offset,
        position,
        length,
        group.num_rows,
        earliest // _MICROS,
        latest // _MICROS,
    )


def _bounds(group: Any, columns: dict[str, int], name: str) -> tuple[int, int]:  # noqa: ANN401
    statistics = group.column(columns[name]).statistics if name in columns else None
    if statistics is None or not statistics.has_min_max:
        raise ForeignParquet(f"a row group has no minimum and maximum of {name}")
    low, high = statistics.min_raw, statistics.max_raw
    if not (isinstance(low, int) and isinstance(high, int)):
        raise ForeignParquet(f"the column {name} holds {statistics.physical_type}, not whole numbers")
    return low, high


def _byte_range(group: Any) -> tuple[int, int]:  # noqa: ANN401
    """Return the range of the pages of all columns, which are contiguous."""
    columns = [group.column(number) for number in range(group.num_columns)]
    starts = [
        column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
        for column in columns
    ]
    end = max(start + column.total_compressed_size for start, column in zip(starts, columns, strict=True))
    return min(starts), end - min(starts)
