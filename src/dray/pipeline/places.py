"""What the index must know of a file that was just written."""

from dray.formats.parquet_v1 import WrittenFile
from dray.ids import FileId
from dray.index import FilePlace, GroupRow, pack_groups


def place_of(
    file_id: FileId, path: str, start_offset: int, end_offset: int, written: WrittenFile
) -> FilePlace:
    """Return the file's place; it stands for all offsets from start to end, also those without a record."""
    return FilePlace(
        file_id=file_id,
        path=path,
        size_bytes=written.size_bytes,
        footer_bytes=len(written.tail),
        footer_crc=written.crc,
        start_offset=start_offset,
        end_offset=end_offset,
        record_count=written.row_count,
        min_timestamp_ms=written.min_timestamp_ms,
        max_timestamp_ms=written.max_timestamp_ms,
        packed_groups=pack_groups(_groups(start_offset, written)),
    )


def _groups(start: int, written: WrittenFile) -> list[GroupRow]:
    return [
        GroupRow(
            group.first_offset - start if number else 0,
            group.last_offset - start,
            group.position,
            group.length,
            group.row_count,
            group.min_timestamp_ms,
            group.max_timestamp_ms,
        )
        for number, group in enumerate(written.groups)
    ]
