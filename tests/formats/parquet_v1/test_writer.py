"""Rows go into groups of bounded size with the settings that were measured; the writer tells the truth."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.formats import parquet_v1
from tests.formats.parquet_v1.builders import NOW_MS, read_all, some_rows, written


def test_rows_come_back_as_they_went_in() -> None:
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
def test_groups_hold_no_more_than_they_may(sizes: list[tuple[int, int]], group_bytes: int) -> None:
    rows = [
        some_rows(1000 * number, count, value_bytes=value_bytes)
        for number, (count, value_bytes) in enumerate(sizes)
    ]
    whole, told = written(rows, group_bytes)
    expected = pa.Table.from_batches(rows, parquet_v1.SCHEMA).to_pylist()
    found = read_all(whole, told, parquet_v1.SCHEMA.names)
    assert [row for batch in found for row in batch.to_pylist()] == expected
    for batch in found:
        assert batch.num_rows == 1 or _plain_bytes(batch) <= group_bytes


def _plain_bytes(rows: pa.RecordBatch) -> int:
    lengths = [24 * rows.num_rows]
    for row in rows.to_pylist():
        lengths += [len(row["key"] or b""), len(row["value"] or b"")]
        lengths += [8 + len(header["key"]) + len(header["value"] or b"") for header in row["headers"]]
    return sum(lengths)


def test_groups_are_filled_across_what_was_written() -> None:
    _, told = written([some_rows(10 * n, 10, value_bytes=100) for n in range(20)], group_bytes=8000)
    assert len(told.groups) == 4
    assert all(50 < group.row_count < 70 for group in told.groups[:-1])


def test_a_slice_is_measured_by_its_own_rows() -> None:
    rows = some_rows(0, 1000, value_bytes=100)
    _, whole = written([rows.slice(900)], group_bytes=4000)
    _, alone = written([some_rows(900, 100, value_bytes=100)], group_bytes=4000)
    assert [group.row_count for group in whole.groups] == [group.row_count for group in alone.groups]


def test_the_writer_tells_the_files_facts() -> None:
    whole, told = written([some_rows(5, 100), some_rows(200, 100)], group_bytes=2000)
    assert told.size_bytes == len(whole)
    assert whole.endswith(told.tail)
    assert told.footer.tail_bytes == len(told.tail)
    assert (told.row_count, told.first_offset, told.last_offset) == (200, 5, 299)
    assert (told.min_timestamp_ms, told.max_timestamp_ms) == (NOW_MS, NOW_MS + 6)
    assert sum(group.row_count for group in told.groups) == 200


def test_a_file_without_rows_is_a_file() -> None:
    whole, told = written([some_rows(0, 0)])
    assert pq.read_table(io.BytesIO(whole)).num_rows == 0
    assert (told.row_count, told.groups, told.size_bytes) == (0, (), len(whole))
    assert (told.first_offset, told.last_offset, told.min_timestamp_ms, told.max_timestamp_ms) == (-1,) * 4


def test_a_sink_of_pyarrow_is_an_output() -> None:
    sink = pa.BufferOutputStream()
    writer = parquet_v1.FileWriter(sink)
    writer.write(some_rows(0, 10))
    told = writer.close()
    assert not sink.closed
    assert told.size_bytes == sink.getvalue().size


@pytest.mark.parametrize(
    "rows",
    [
        [some_rows(5, 3), some_rows(7, 3)],
        [some_rows(5, 3), some_rows(0, 3)],
        [some_rows(5, 3).take(pa.array([0, 2, 1]))],
        [some_rows(5, 3).take(pa.array([0, 0, 1]))],
    ],
)
def test_offsets_that_do_not_ascend_are_refused(rows: list[pa.RecordBatch]) -> None:
    with pytest.raises(parquet_v1.RowsOutOfOrder, match="do not ascend"):
        written(rows)


def test_the_settings_are_in_the_file() -> None:
    whole, _ = written([some_rows(0, 100)])
    metadata = pq.read_metadata(io.BytesIO(whole))
    group = metadata.row_group(0)
    found = {group.column(n).path_in_schema: group.column(n) for n in range(group.num_columns)}
    assert {column.compression for column in found.values()} == {"ZSTD"}
    for name in ("offset", "timestamp"):
        assert "DELTA_BINARY_PACKED" in found[name].encodings
        assert found[name].has_column_index
    told = {name for name, column in found.items() if column.is_stats_set}
    assert told == {
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
