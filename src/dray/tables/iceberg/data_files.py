"""Data files of the port as Iceberg has them.

An Iceberg data file is made from its Parquet footer and nothing else. Bounds are taken as whole numbers and
by our own column names: PyIceberg's own way goes through dates, which have no room for the timestamps that
Kafka allows, and by the names that the table has by now.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from typing import Any, Final

import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import parquet_path_to_id_mapping
from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.typedef import Record

from dray.tables.iceberg.schema import OFFSET, PARTITION, SCHEMA, TIMESTAMP
from dray.tables.port import DataFile

_BOUNDED: Final = {PARTITION: "<i", OFFSET: "<q", TIMESTAMP: "<q"}
"""The columns that readers skip files by, and how Iceberg writes a bound of each."""


class Root:
    """The object store's root: paths below it are told without it."""

    def __init__(self, url: str) -> None:
        self._prefix = f"{url}/"

    def url(self, path: str) -> str:
        return path if "//" in path else self._prefix + path

    def path(self, url: str) -> str:
        # Java writes file:/directory where others write file:///directory.
        if url.startswith("file:/") and not url.startswith("file://"):
            url = f"file://{url.removeprefix('file:')}"
        return url.removeprefix(self._prefix)

    def folder(self, url: str) -> str:
        return self.path(url).rstrip("/")


@dataclass(frozen=True, slots=True)
class _Bounds:
    least: int
    greatest: int


@cache
def _field_ids() -> dict[str, int]:
    return parquet_path_to_id_mapping(SCHEMA)


def to_iceberg(file: DataFile, spec: PartitionSpec, root: Root) -> IcebergFile:
    """Describe the file as a manifest does; `ValueError` if its footer is not that of such a file."""
    footer = pq.read_metadata(BytesIO(file.footer))
    if footer.num_rows != file.records or not file.records:
        raise ValueError(f"{file.path}: {file.records} records were told, its footer has {footer.num_rows}")
    sizes, bounds = _column_sizes(footer), {number: _bounds(file, footer, number) for number in _BOUNDED}
    return IcebergFile.from_args(
        content=DataFileContent.DATA,
        file_path=root.url(file.path),
        file_format=FileFormat.PARQUET,
        partition=Record(*_partition_values(file, spec, bounds)),
        record_count=footer.num_rows,
        file_size_in_bytes=file.size_bytes,
        column_sizes=sizes,
        value_counts=dict.fromkeys(_BOUNDED, footer.num_rows),
        null_value_counts=dict.fromkeys(_BOUNDED, 0),
        nan_value_counts={},
        lower_bounds={number: struct.pack(kind, bounds[number].least) for number, kind in _BOUNDED.items()},
        upper_bounds={
            number: struct.pack(kind, bounds[number].greatest) for number, kind in _BOUNDED.items()
        },
        key_metadata=None,
        split_offsets=sorted(map(_start, _groups(footer))),
        equality_ids=None,
        sort_order_id=None,
        spec_id=spec.spec_id,
    )


def _groups(footer: Any) -> Iterator[Any]:  # noqa: ANN401 - pyarrow has no types
    return (footer.row_group(number) for number in range(footer.num_row_groups))


def _columns(group: Any) -> Iterator[Any]:  # noqa: ANN401
    return (group.column(number) for number in range(group.num_columns))


def _start(group: Any) -> int:  # noqa: ANN401
    first = group.column(0)
    start: int = first.dictionary_page_offset if first.has_dictionary_page else first.data_page_offset
    return start


def _column_sizes(footer: Any) -> dict[int, int]:  # noqa: ANN401
    sizes: dict[int, int] = {}
    for group in _groups(footer):
        for column in _columns(group):
            number = _field_ids()[column.path_in_schema]
            sizes[number] = sizes.get(number, 0) + column.total_compressed_size
    return sizes


def _bounds(file: DataFile, footer: Any, number: int) -> _Bounds:  # noqa: ANN401
    """The least and the greatest value of a column; our writer keeps them for each row group."""
    name = SCHEMA.find_column_name(number)
    found = [
        column.statistics
        for group in _groups(footer)
        for column in _columns(group)
        if column.path_in_schema == name
    ]
    if not all(known is not None and known.has_min_max for known in found):
        raise ValueError(f"{file.path}: its footer does not tell the least and greatest {name}")
    return _Bounds(min(known.min_raw for known in found), max(known.max_raw for known in found))


def _partition_values(
    file: DataFile, spec: PartitionSpec, bounds: dict[int, _Bounds]
) -> Iterator[int | None]:
    """The file's place in a partitioning that `schema` finds fitting: by partition, or void."""
    for field in spec.fields:
        if str(field.transform) == "void":
            yield None
            continue
        least, greatest = bounds[field.source_id].least, bounds[field.source_id].greatest
        if least != greatest:
            raise ValueError(
                f"{file.path} spans several partitions of the table: {field.name} {least} to {greatest}"
            )
        yield least
