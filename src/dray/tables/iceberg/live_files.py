"""What data files a table has, as its current snapshot tells."""

from collections.abc import Iterator, Mapping
from typing import Any

from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import DataFileContent, ManifestEntry
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import IntegerType, LongType

from dray.tables.iceberg.data_files import Root
from dray.tables.iceberg.schema import OFFSET, PARTITION
from dray.tables.port import LiveFile

_Place = tuple[int, Record] | None
"""A partition of the table; None stands for all of them."""


def live_entries(table: Table) -> Iterator[ManifestEntry]:
    """Every entry of the current snapshot that has not been deleted, of delete files too."""
    snapshot = table.current_snapshot()
    for manifest in snapshot.manifests(table.io) if snapshot else []:
        yield from manifest.fetch_manifest_entry(table.io, discard_deleted=True)


def live_files(table: Table, root: Root) -> tuple[LiveFile, ...]:
    """The data files of the current snapshot, by partition and offset."""
    entries = list(live_entries(table))
    specs = table.specs()
    deletes = _latest_deletes(entry for entry in entries if entry.data_file.content != DataFileContent.DATA)
    files = [
        _to_live(entry, specs[entry.data_file.spec_id], deletes, root)
        for entry in entries
        if entry.data_file.content == DataFileContent.DATA
    ]
    return tuple(sorted(files, key=lambda file: (file.partition or 0, file.first_offset or 0, file.path)))


def _latest_deletes(entries: Iterator[ManifestEntry]) -> Mapping[_Place, int]:
    """The sequence number of the last delete file of each partition; None stands for all of them."""
    latest: dict[_Place, int] = {}
    for entry in entries:
        file = entry.data_file
        place = (file.spec_id, file.partition) if len(file.partition) else None
        latest[place] = max(latest.get(place, 0), entry.sequence_number or 0)
    return latest


def _to_live(
    entry: ManifestEntry, spec: PartitionSpec, deletes: Mapping[_Place, int], root: Root
) -> LiveFile:
    file = entry.data_file
    first, last = _bound(file.lower_bounds, OFFSET), _bound(file.upper_bounds, OFFSET)
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
    lower, upper = _bound(file.lower_bounds, PARTITION), _bound(file.upper_bounds, PARTITION)
    return lower if lower == upper else None


def _bound(bounds: Mapping[int, bytes] | None, field_id: int) -> int | None:
    raw = (bounds or {}).get(field_id)
    if raw is None:
        return None
    found: Any = from_bytes(LongType() if len(raw) == 8 else IntegerType(), raw)
    return int(found)
