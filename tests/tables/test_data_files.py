"""From a Parquet footer to Iceberg, and from a manifest to what the port shows."""

from dataclasses import replace
from io import BytesIO
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import DataFileContent, FileFormat, ManifestEntry, ManifestEntryStatus
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.table import Table
from pyiceberg.typedef import Record

from dray.formats import parquet_v1
from dray.tables.iceberg.data_files import Root, live_files, to_iceberg
from dray.tables.iceberg.schema import SPEC
from dray.tables.names import table_folder
from dray.tables.port import DataFile, Job
from dray.testing.contracts.tables import ORDERS, live
from tests.tables.iceberg_harness import IcebergHarness
from tests.tables.parquet import ParquetFiles, rows

ROOT = Root("file:///store")
DAY_US = 86_400_000_000


def file_of(table: Any) -> DataFile:
    """A file with any rows; its numbers are those of partition 0 from offset 0."""
    whole, count = BytesIO(), table.num_rows
    writer = parquet_v1.FileWriter(whole)
    for batch in table.to_batches():
        writer.write(batch)
    return DataFile("a.parquet", len(whole.getvalue()), count, 0, 0, count - 1, writer.close().tail)


def with_timestamps(values: list[int]) -> Any:
    table = rows(0, 0, len(values))
    column = pa.array(values, pa.int64()).cast(pa.timestamp("us", "UTC"))
    return table.set_column(2, parquet_v1.SCHEMA.field("timestamp"), column)


@pytest.mark.parametrize("extreme", [-(2**63) + 1, -1, 0, 253_402_300_800_000_000, 2**63 - 1])
async def test_any_timestamp_can_be_committed(sql: IcebergHarness, extreme: int) -> None:
    """Kafka accepts any timestamp; dates end in the year 9999, and Iceberg timestamps do not."""
    tables = await sql.open()
    await tables.create_if_missing(ORDERS, table_folder(ORDERS.topic))
    file = file_of(with_timestamps([extreme, 5]))
    await tables.append(ORDERS, [file], Job("a"))
    assert (await tables.current(ORDERS)).files == (live(file),)


def test_bounds_cover_all_row_groups() -> None:
    whole = BytesIO()
    writer = parquet_v1.FileWriter(whole, group_bytes=200)
    for batch in rows(3, 100, 50).to_batches():
        writer.write(batch)
    written = writer.close()
    assert len(written.groups) > 1
    file = DataFile("a", len(whole.getvalue()), 50, 3, 100, 149, written.tail)
    found = to_iceberg(file, SPEC, ROOT)
    assert (found.record_count, found.partition[0], found.file_path) == (50, 3, "file:///store/a")
    assert found.split_offsets == [group.position for group in written.groups]
    assert int.from_bytes(found.lower_bounds[2], "little") == 100
    assert int.from_bytes(found.upper_bounds[2], "little") == 149
    whole_size = sum(found.column_sizes.values())
    assert whole_size == sum(group.length for group in written.groups)


def test_footer_that_is_another_files() -> None:
    file = ParquetFiles().file(0, 0, 5)
    with pytest.raises(ValueError, match="expected 6 records, its footer has 5"):
        to_iceberg(replace(file, records=6), SPEC, ROOT)


def test_footer_without_bounds_is_refused() -> None:
    footers: list[Any] = []
    footer = BytesIO()
    pq.write_table(rows(0, 0, 5), BytesIO(), write_statistics=False, metadata_collector=footers)
    footers[0].write_metadata_file(footer)
    with pytest.raises(ValueError, match="has no statistics for partition"):
        to_iceberg(DataFile("a", 1, 5, 0, 0, 4, footer.getvalue()), SPEC, ROOT)


def test_file_of_two_partitions_is_refused() -> None:
    both = rows(0, 0, 4).set_column(
        0, parquet_v1.SCHEMA.field("partition"), pa.array([0, 0, 1, 1], pa.int32())
    )
    with pytest.raises(ValueError, match="several partitions of the table: partition 0 to 1"):
        to_iceberg(file_of(both), SPEC, ROOT)


def test_paths_are_relative_to_the_root() -> None:
    assert ROOT.path("file:///store/a/b") == "a/b"
    assert ROOT.path("file:/store/a/b") == "a/b"
    assert ROOT.path("s3://elsewhere/a/b") == "s3://elsewhere/a/b"
    assert ROOT.url("a/b") == "file:///store/a/b"
    assert ROOT.url("s3://elsewhere/a/b") == "s3://elsewhere/a/b"


def entry(
    path: str, partition: int, sequence: int, content: DataFileContent, spec_id: int = 0
) -> ManifestEntry:
    file = IcebergFile.from_args(
        content=content,
        file_path=f"file:///store/{path}",
        file_format=FileFormat.PARQUET,
        partition=Record(partition) if spec_id == 0 else Record(),
        record_count=1,
        file_size_in_bytes=1,
        lower_bounds=None,
        upper_bounds=None,
    )
    file.spec_id = spec_id
    return ManifestEntry.from_args(
        status=ManifestEntryStatus.ADDED, snapshot_id=1, sequence_number=sequence, data_file=file
    )


def table_with(*entries: ManifestEntry) -> Table:
    manifest = SimpleNamespace(
        fetch_manifest_entry=lambda _, discard_deleted: [one for one in entries if discard_deleted]
    )
    snapshot = SimpleNamespace(manifests=lambda _: [manifest])
    specs = {0: SPEC, 1: UNPARTITIONED_PARTITION_SPEC}
    return cast("Table", SimpleNamespace(current_snapshot=lambda: snapshot, specs=lambda: specs, io=None))


def test_files_with_deleted_rows_are_marked() -> None:
    data = [
        entry("before", 0, 1, DataFileContent.DATA),
        entry("with", 0, 2, DataFileContent.DATA),
        entry("after", 0, 3, DataFileContent.DATA),
        entry("elsewhere", 1, 1, DataFileContent.DATA),
    ]
    deletes = entry("deletes", 0, 2, DataFileContent.POSITION_DELETES)
    found = live_files(table_with(*data, deletes), ROOT)
    assert {file.path: file.has_deletes for file in found} == {
        "before": True,
        "with": True,
        "after": False,
        "elsewhere": False,
    }


def test_deletes_without_a_partition_may_touch_any_file() -> None:
    data = [entry("a", 0, 1, DataFileContent.DATA), entry("b", 1, 1, DataFileContent.DATA)]
    deletes = entry("deletes", 0, 2, DataFileContent.EQUALITY_DELETES, spec_id=1)
    assert [file.has_deletes for file in live_files(table_with(*data, deletes), ROOT)] == [True, True]


def test_external_file_without_bounds_or_partition() -> None:
    [file] = live_files(table_with(entry("a", 0, 1, DataFileContent.DATA, spec_id=1)), ROOT)
    assert (file.partition, file.first_offset, file.last_offset) == (None, None, None)
