"""What the end of a file tells: which groups there are, which offsets they hold, and where their bytes lie.

A file ends with its footer, the footer's length in 4 bytes, and `PAR1`. Whoever knows the length from the
offset index reads exactly that much; whoever does not reads a guess, and is told by `FooterCut` if it was
too little. All positions count from the start of the file, so the rest of it is not needed.

A damaged footer can end the whole process inside pyarrow. Hence the checksum: whoever wrote the file keeps it
where the file is named, and gives it here, so that a damaged footer is found before pyarrow sees it.
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
"""What pyarrow raises for bytes that it cannot read; a ValueError for names that are not text."""


class RowGroup(NamedTuple):
    """One group of a file. Bytes `position` to `position + length` of the file are all it takes to read
    it."""

    first_offset: int
    last_offset: int
    position: int
    length: int
    row_count: int
    min_timestamp_ms: int
    max_timestamp_ms: int


@dataclass(frozen=True, slots=True)
class Footer:
    """A file's footer; `tail_bytes` is what must be read at the end of the file to have it."""

    metadata: pq.FileMetaData
    tail_bytes: int


def tail_crc(tail: Buffer) -> int:
    """Return the CRC-32C of a file's footer as it stands at the end of it."""
    return crc32c(tail)


def read_footer(tail: Buffer, crc: int | None = None) -> Footer:
    """Read the footer from the last bytes of a file, however many; `FooterCut` says if they are too few.

    `crc` is what `tail_crc` gave when the file was written. Without it the bytes must be trusted.
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
    """Return the groups in the order of the file; `ForeignParquet` if they do not tell their offsets."""
    metadata = footer.metadata
    try:
        columns = {metadata.schema.column(number).path: number for number in range(metadata.num_columns)}
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        return tuple(_row_group(group, columns) for group in groups)
    except _UNREADABLE as error:
        raise CorruptParquet(f"the row groups cannot be told: {error}") from error


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
        raise ForeignParquet(f"a row group does not tell the least and greatest {name}")
    low, high = statistics.min_raw, statistics.max_raw
    if not (isinstance(low, int) and isinstance(high, int)):
        raise ForeignParquet(f"the column {name} holds {statistics.physical_type}, not whole numbers")
    return low, high


def _byte_range(group: Any) -> tuple[int, int]:  # noqa: ANN401
    """Where the pages of all columns lie; we write them side by side."""
    columns = [group.column(number) for number in range(group.num_columns)]
    starts = [
        column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
        for column in columns
    ]
    end = max(start + column.total_compressed_size for start, column in zip(starts, columns, strict=True))
    return min(starts), end - min(starts)
