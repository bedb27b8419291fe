"""Data files in Iceberg's manifests: writing entries for ours, and reading those of a table.

An entry is derived from the Parquet footer alone. Bounds are taken as integers and by our own column names:
PyIceberg goes through dates, which cannot represent every timestamp that Kafka allows, and through the names
that the columns have now.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from typing import Any, Final

import pyarrow.parquet as pq
from pyiceberg.conversions import from_bytes
from pyiceberg.io.pyarrow import parquet_path_to_id_mapping
from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import DataFileContent, FileFormat, ManifestEntry
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import IntegerType, LongType

from dray.tables.iceberg.schema import OFFSET, PARTITION, SCHEMA, TIMESTAMP
from dray.tables.port import DataFile, LiveFile

_BOUNDED: Final = {PARTITION: "<i", OFFSET: "<q", TIMESTAMP: "<q"}
"""The columns by which readers skip files, and how Iceberg encodes a bound of each."""
_TablePartition = tuple[int, Record] | None
"""A partition of the table; None stands for all of them."""


class Root:
    """The root of the object store: paths are relative to it."""

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
    lower: int
    upper: int


@cache
def _field_ids() -> dict[str, int]:
    return parquet_path_to_id_mapping(SCHEMA)


def to_iceberg(file: DataFile, spec: PartitionSpec, root: Root) -> IcebergFile:
    """Return the file's manifest entry; raises `ValueError` if its footer does not match."""
    footer = pq.read_metadata(BytesIO(file.footer))
    if footer.num_rows != file.records or not file.records:
        raise ValueError(f"{file.path}: expected {file.records} records, its footer has {footer.num_rows}")
    bounds = {number: _footer_bounds(file, footer, number) for number in _BOUNDED}
    return IcebergFile.from_args(
        content=DataFileContent.DATA,
        file_path=root.url(file.path),
        file_format=FileFormat.PARQUET,
        partition=Record(*_partition_values(file, spec, bounds)),
        record_count=footer.num_rows,
        file_size_in_bytes=file.size_bytes,
        column_sizes=_column_sizes(footer),
        value_counts=dict.fromkeys(_BOUNDED, footer.num_rows),
        null_value_counts=dict.fromkeys(_BOUNDED, 0),
        nan_value_counts={},
        lower_bounds={number: struct.pack(kind, bounds[number].lower) for number, kind in _BOUNDED.items()},
        upper_bounds={number: struct.pack(kind, bounds[number].upper) for number, kind in _BOUNDED.items()},
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


def _footer_bounds(file: DataFile, footer: Any, number: int) -> _Bounds:  # noqa: ANN401
    """Return the bounds of a column, which our writer stores for each row group."""
    name = SCHEMA.find_column_name(number)
    found = [
        column.statistics
        for group in _groups(footer)
        for column in _columns(group)
        if column.path_in_schema == name
    ]
    if not all(known is not None and known.has_min_max for known in found):
        raise ValueError(f"{file.path}: its footer has no statistics for {name}")
    return _Bounds(min(known.min_raw for known in found), max(known.max_raw for known in found))


def _partition_values(
    file: DataFile, spec: PartitionSpec, bounds: dict[int, _Bounds]
) -> Iterator[int | None]:
    """Yield the file's partition values, in a partitioning that `schema` accepts: by partition, or void."""
    for field in spec.fields:
        if str(field.transform) == "void":
            yield None
            continue
        lower, upper = bounds[field.source_id].lower, bounds[field.source_id].upper
        if lower != upper:
            raise ValueError(
                f"{file.path} spans several partitions of the table: {field.name} {lower} to {upper}"
            )
        yield lower


def live_entries(table: Table) -> Iterator[ManifestEntry]:
    """Yield every live entry of the current snapshot, delete files included."""
    snapshot = table.current_snapshot()
    for manifest in snapshot.manifests(table.io) if snapshot else []:
        yield from manifest.fetch_manifest_entry(table.io, discard_deleted=True)


def live_files(table: Table, root: Root) -> tuple[LiveFile, ...]:
    """Return the data files of the current snapshot, by partition and offset."""
    entries = list(live_entries(table))
    specs = table.specs()
    deletes = _latest_deletes(entry for entry in entries if entry.data_file.content != DataFileContent.DATA)
    files = [
        _to_live(entry, specs[entry.data_file.spec_id], deletes, root)
        for entry in entries
        if entry.data_file.content == DataFileContent.DATA
    ]
    return tuple(sorted(files, key=lambda file: (file.partition or 0, file.first_offset or 0, file.path)))


def _latest_deletes(entries: Iterator[ManifestEntry]) -> Mapping[_TablePartition, int]:
    """Return the sequence number of the last delete file of each partition; None stands for all of them."""
    latest: dict[_TablePartition, int] = {}
    for entry in entries:
        file = entry.data_file
        partition = (file.spec_id, file.partition) if len(file.partition) else None
        latest[partition] = max(latest.get(partition, 0), entry.sequence_number or 0)
    return latest


def _to_live(
    entry: ManifestEntry, spec: PartitionSpec, deletes: Mapping[_TablePartition, int], root: Root
) -> LiveFile:
    file = entry.data_file
    first, last = _manifest_bound(file.lower_bounds, OFFSET), _manifest_bound(file.upper_bounds, OFFSET)
    deleted = max(deletes.get(None, -1), deletes.get((file.spec_id, file.partition), -1))
    return LiveFile(
        path=root.path(file.file_path),
        size_bytes=file.file_size_in_bytes,
        records=file.record_count,
        partition=_partition(file, spec),
        first_offset=first,
        last_offset=last,
        has_deletes=deleted >= (entry.sequence_number or 0),
    )


def _partition(file: IcebergFile, spec: PartitionSpec) -> int | None:
    for position, field in enumerate(spec.fields):
        if field.source_id == PARTITION and isinstance(field.transform, IdentityTransform):
            known: int | None = file.partition[position]
            return known
    lower, upper = (
        _manifest_bound(file.lower_bounds, PARTITION),
        _manifest_bound(file.upper_bounds, PARTITION),
    )
    return lower if lower == upper else None


def _manifest_bound(bounds: Mapping[int, bytes] | None, field_id: int) -> int | None:
    raw = (bounds or {}).get(field_id)
    if raw is None:
        return None
    found: Any = from_bytes(LongType() if len(raw) == 8 else IntegerType(), raw)
    return int(found)
