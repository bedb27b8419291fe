"""Topics and their Parquet files in the terms of the tables port.

A file is described together with its footer, whose checksum is verified first: decoding a damaged footer can
crash the process.
"""

from dray.formats.parquet_v1 import CorruptParquet, tail_crc
from dray.ids import TopicRef
from dray.index import FileRef, ParquetEntry
from dray.objects.port import ByteRange, ObjectStore
from dray.tables.port import DataFile, TopicTable


def table_of(topic: TopicRef) -> TopicTable:
    return TopicTable(topic.name, topic.topic_id.hex())


async def data_file(objects: ObjectStore, partition: int, file: FileRef | ParquetEntry) -> DataFile:
    """Describe a Parquet file to the table; raises `CorruptParquet` or an error of the store."""
    return DataFile(
        path=file.path,
        size_bytes=file.size_bytes,
        records=file.record_count,
        partition=partition,
        first_offset=file.start_offset,
        last_offset=file.end_offset - 1,
        footer=await _footer(objects, file),
    )


async def _footer(objects: ObjectStore, file: FileRef | ParquetEntry) -> bytes:
    at = ByteRange(file.size_bytes - file.footer_bytes, file.footer_bytes)
    (tail,) = await objects.get_ranges(file.path, [at])
    found = tail_crc(tail)
    if found != file.footer_crc:
        raise CorruptParquet(
            f"offsets {file.start_offset} to {file.end_offset - 1}, in {file.path}: the footer should have "
            f"CRC {file.footer_crc:08x}, it has {found:08x}"
        )
    return bytes(tail)
