"""Writer: rows go into groups of bounded size, with the settings that were measured."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.formats import parquet_v1
from tests.formats.parquet_v1.builders import NOW_MS, read_all, some_rows, written


def test_pyarrow_reads_the_rows_that_were_written() -> None:
    rows = [some_rows(10, 50), some_rows(100, 70, step=3)]
    whole, _ = written(rows)
    found = pq.read_table(io.BytesIO(whole))
    assert found.equals(pa.Table.from_batches(rows))


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 300)), max_size=5),
    st.integers(1, 4000),
)
def test_groups_stay_within_their_size(sizes: list[tuple[int, int]], group_bytes: int) -> None:
    rows = [
        some_rows(1000 * number, count, value_bytes=value_bytes)
        for number, (count, value_bytes) in enumerate(sizes)
    ]
    whole, file = written(rows, group_bytes)
    expected = pa.Table.from_batches(rows, parquet_v1.SCHEMA).to_pylist()
    found = read_all(whole, file, parquet_v1.SCHEMA.names)
    assert [row for batch in found for row in batch.to_pylist()] == expected
    for batch in found:
        assert batch.num_rows == 1 or _plain_bytes(batch) <= group_bytes


def _plain_bytes(rows: pa.RecordBatch) -> int:
    lengths = [24 * rows.num_rows]
    for row in rows.to_pylist():
        lengths += [len(row["key"] or b""), len(row["value"] or b"")]
        lengths += [8 + len(header["key"]) + len(header["value"] or b"") for header in row["headers"]]
    return sum(lengths)


def test_groups_are_filled_across_batches() -> None:
    _, file = written([some_rows(10 * n, 10, value_bytes=100) for n in range(20)], group_bytes=8000)
    assert len(file.groups) == 4
    assert all(50 < group.row_count < 70 for group in file.groups[:-1])


def test_slice_counts_only_its_own_rows() -> None:
    rows = some_rows(0, 1000, value_bytes=100)
    _, whole = written([rows.slice(900)], group_bytes=4000)
    _, alone = written([some_rows(900, 100, value_bytes=100)], group_bytes=4000)
    assert [group.row_count for group in whole.groups] == [group.row_count for group in alone.groups]


def test_writer_describes_the_file() -> None:
    whole, file = written([some_rows(5, 100), some_rows(200, 100)], group_bytes=2000)
    assert file.size_bytes == len(whole)
    assert whole.endswith(file.tail)
    assert file.footer.tail_bytes == len(file.tail)
    assert (file.row_count, file.first_offset, file.last_offset) == (200, 5, 299)
    assert (file.min_timestamp_ms, file.max_timestamp_ms) == (NOW_MS, NOW_MS + 6)
    assert sum(group.row_count for group in file.groups) == 200


def test_file_without_rows_is_valid() -> None:
    whole, file = written([some_rows(0, 0)])
    assert pq.read_table(io.BytesIO(whole)).num_rows == 0
    assert (file.row_count, file.groups, file.size_bytes) == (0, (), len(whole))
    assert (file.first_offset, file.last_offset, file.min_timestamp_ms, file.max_timestamp_ms) == (-1,) * 4


def test_pyarrow_sink_is_accepted_as_output() -> None:
    sink = pa.BufferOutputStream()
    writer = parquet_v1.FileWriter(sink)
    writer.write(some_rows(0, 10))
    file = writer.close()
    assert not sink.closed
    assert file.size_bytes == sink.getvalue().size


@pytest.mark.parametrize(
    "rows",
    [
        [some_rows(5, 3), some_rows(7, 3)],
        [some_rows(5, 3), some_rows(0, 3)],
        [some_rows(5, 3).take(pa.array([0, 2, 1]))],
        [some_rows(5, 3).take(pa.array([0, 0, 1]))],
    ],
)
def test_offsets_that_do_not_ascend_are_rejected(rows: list[pa.RecordBatch]) -> None:
    with pytest.raises(parquet_v1.RowsOutOfOrder, match="do not ascend"):
        written(rows)


def test_settings_are_in_the_file() -> None:
    whole, _ = written([some_rows(0, 100)])
    metadata = pq.read_metadata(io.BytesIO(whole))
    group = metadata.row_group(0)
    found = {group.column(n).path_in_schema: group.column(n) for n in range(group.num_columns)}
    assert {column.compression for column in found.values()} == {"ZSTD"}
    for name in ("offset", "timestamp"):
        assert "DELTA_BINARY_PACKED" in found[name].encodings
        assert found[name].has_column_index
    with_statistics = {name for name, column in found.items() if column.is_stats_set}
    assert with_statistics == {
        "partition",
        "offset",
        "timestamp",
        "producer_id",
        "producer_epoch",
        "base_sequence",
        "attributes",
        "record_crc",
    }
    assert {name for name, column in found.items() if column.has_dictionary_page} == {
        "partition",
        "producer_id",
        "producer_epoch",
        "base_sequence",
        "attributes",
        "headers.list.element.key",
    }
    assert b"ARROW:schema" not in (metadata.metadata or {})
