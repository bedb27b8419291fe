"""Reader: footer and row groups by ranges, and different errors for corrupt and foreign files."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.formats import parquet_v1
from dray.formats.parquet_v1 import CorruptParquet, FooterCut, ForeignParquet
from dray.records.columns import MILLIS_MAX
from tests.formats.parquet_v1.builders import group_data, some_rows, written

DATA, FILE = written([some_rows(100, 300, value_bytes=50, step=2)], group_bytes=8000)


def test_group_is_read_from_its_own_range() -> None:
    footer = parquet_v1.read_footer(DATA[-FILE.footer.tail_bytes :])
    groups = parquet_v1.row_groups(footer)
    assert groups == FILE.groups
    assert len(groups) > 2
    for number, group in enumerate(groups):
        rows = parquet_v1.read_group(footer, number, group.position, group_data(DATA, group))
        assert rows.schema.names == list(parquet_v1.SERVED)
        offsets = rows.column("offset").to_pylist()
        assert (offsets[0], offsets[-1], len(offsets)) == (
            group.first_offset,
            group.last_offset,
            group.row_count,
        )


def test_groups_are_contiguous_from_the_start() -> None:
    ends = [group.position + group.length for group in FILE.groups]
    assert [group.position for group in FILE.groups] == [4, *ends[:-1]]
    assert ends[-1] < len(DATA) - FILE.footer.tail_bytes


def test_range_wider_than_the_group_is_accepted() -> None:
    rows = parquet_v1.read_group(FILE.footer, 1, 0, DATA)
    exact = parquet_v1.read_group(FILE.footer, 1, FILE.groups[1].position, group_data(DATA, FILE.groups[1]))
    assert rows.equals(exact)


def test_only_requested_columns_are_read() -> None:
    rows = parquet_v1.read_group(FILE.footer, 0, 0, DATA, ["offset"])
    assert rows.schema.names == ["offset"]


def test_truncated_footer_reports_the_bytes_needed() -> None:
    needed = FILE.footer.tail_bytes
    for given_bytes in (8, 100, needed - 1):
        with pytest.raises(FooterCut) as caught:
            parquet_v1.read_footer(DATA[-given_bytes:])
        assert caught.value.needed_bytes == needed
    with pytest.raises(FooterCut) as caught:
        parquet_v1.read_footer(b"PAR1")
    assert caught.value.needed_bytes == 8
    assert parquet_v1.read_footer(DATA).tail_bytes == needed


def test_file_that_is_not_parquet_is_corrupt() -> None:
    with pytest.raises(CorruptParquet, match="ends with"):
        parquet_v1.read_footer(b"something else entirely")
    corrupted = bytes(FILE.footer.tail_bytes - 8) + FILE.tail[-8:]
    with pytest.raises(CorruptParquet, match="footer cannot be read"):
        parquet_v1.read_footer(corrupted)


def test_range_that_does_not_match_the_group_is_corrupt() -> None:
    group = FILE.groups[1]
    data = group_data(DATA, group)
    for position, wrong in ((group.position, data[:-1]), (group.position + 1, data), (0, data)):
        with pytest.raises(CorruptParquet, match="row group 1"):
            parquet_v1.read_group(FILE.footer, 1, position, wrong, parquet_v1.SCHEMA.names)


def test_flipped_bit_is_detected() -> None:
    """By the checksum of a page, or because its header no longer makes sense."""
    group = FILE.groups[0]
    data = bytearray(group_data(DATA, group))
    data[len(data) // 2] ^= 0x10
    with pytest.raises(CorruptParquet, match="row group 0"):
        parquet_v1.read_group(FILE.footer, 0, group.position, data, parquet_v1.SCHEMA.names)


@settings(max_examples=200)
@given(st.integers(0, len(FILE.tail) - 9), st.integers(1, 255))
def test_corrupt_footer_is_detected_before_pyarrow_parses_it(at: int, change: int) -> None:
    """Some such footers crash the process inside pyarrow."""
    corrupted = bytearray(FILE.tail)
    corrupted[at] ^= change
    with pytest.raises(CorruptParquet, match="should have CRC"):
        parquet_v1.read_footer(corrupted, FILE.crc)


def test_valid_footer_has_its_checksum() -> None:
    assert parquet_v1.tail_crc(FILE.tail) == FILE.crc
    assert parquet_v1.row_groups(parquet_v1.read_footer(DATA, FILE.crc)) == FILE.groups


def test_file_without_statistics_is_foreign() -> None:
    output = io.BytesIO()
    pq.write_table(pa.Table.from_batches([some_rows(0, 3)]), output, write_statistics=False)
    footer = parquet_v1.read_footer(output.getvalue())
    with pytest.raises(ForeignParquet, match="no minimum and maximum of offset"):
        parquet_v1.row_groups(footer)


@pytest.mark.parametrize("column", [pa.array(["a", "b"]), pa.array([0.5, 1.5])])
def test_file_with_offsets_of_another_type_is_foreign(column: pa.Array) -> None:
    output = io.BytesIO()
    pq.write_table(pa.table({"offset": column, "timestamp": column}), output)
    with pytest.raises(ForeignParquet, match="column offset holds"):
        parquet_v1.row_groups(parquet_v1.read_footer(output.getvalue()))


def test_extreme_timestamps_are_recorded() -> None:
    rows = some_rows(0, 2)
    edge = pa.array([-MILLIS_MAX * 1000, MILLIS_MAX * 1000], pa.int64())
    rows = rows.set_column(2, rows.schema.field(2), edge.cast(rows.schema.field(2).type))
    _, file = written([rows])
    assert (file.min_timestamp_ms, file.max_timestamp_ms) == (-MILLIS_MAX, MILLIS_MAX)
