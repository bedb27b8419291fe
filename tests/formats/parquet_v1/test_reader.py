"""A broker reads the footer and one group by ranges; what is wrong with them is told apart."""

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

WHOLE, TOLD = written([some_rows(100, 300, value_bytes=50, step=2)], group_bytes=8000)


def test_one_group_is_read_from_its_own_bytes() -> None:
    footer = parquet_v1.read_footer(WHOLE[-TOLD.footer.tail_bytes :])
    groups = parquet_v1.row_groups(footer)
    assert groups == TOLD.groups
    assert len(groups) > 2
    for number, group in enumerate(groups):
        rows = parquet_v1.read_group(footer, number, group.position, group_data(WHOLE, group))
        assert rows.schema.names == list(parquet_v1.SERVED)
        offsets = rows.column("offset").to_pylist()
        assert (offsets[0], offsets[-1], len(offsets)) == (
            group.first_offset,
            group.last_offset,
            group.row_count,
        )


def test_groups_lie_side_by_side_from_the_start() -> None:
    ends = [group.position + group.length for group in TOLD.groups]
    assert [group.position for group in TOLD.groups] == [4, *ends[:-1]]
    assert ends[-1] < len(WHOLE) - TOLD.footer.tail_bytes


def test_a_wider_range_than_the_group_serves_as_well() -> None:
    rows = parquet_v1.read_group(TOLD.footer, 1, 0, WHOLE)
    exact = parquet_v1.read_group(TOLD.footer, 1, TOLD.groups[1].position, group_data(WHOLE, TOLD.groups[1]))
    assert rows.equals(exact)


def test_only_the_columns_asked_for_are_read() -> None:
    rows = parquet_v1.read_group(TOLD.footer, 0, 0, WHOLE, ["offset"])
    assert rows.schema.names == ["offset"]


def test_a_footer_that_was_not_read_whole_says_how_much_is_needed() -> None:
    needed = TOLD.footer.tail_bytes
    for given_bytes in (8, 100, needed - 1):
        with pytest.raises(FooterCut) as caught:
            parquet_v1.read_footer(WHOLE[-given_bytes:])
        assert caught.value.needed_bytes == needed
    with pytest.raises(FooterCut) as caught:
        parquet_v1.read_footer(b"PAR1")
    assert caught.value.needed_bytes == 8
    assert parquet_v1.read_footer(WHOLE).tail_bytes == needed


def test_what_is_no_parquet_is_refused() -> None:
    with pytest.raises(CorruptParquet, match="ends with"):
        parquet_v1.read_footer(b"something else entirely")
    spoilt = bytes(TOLD.footer.tail_bytes - 8) + TOLD.tail[-8:]
    with pytest.raises(CorruptParquet, match="footer cannot be read"):
        parquet_v1.read_footer(spoilt)


def test_a_range_that_is_not_the_groups_is_refused() -> None:
    group = TOLD.groups[1]
    data = group_data(WHOLE, group)
    for position, wrong in ((group.position, data[:-1]), (group.position + 1, data), (0, data)):
        with pytest.raises(CorruptParquet, match="row group 1"):
            parquet_v1.read_group(TOLD.footer, 1, position, wrong, parquet_v1.SCHEMA.names)


def test_a_flipped_bit_is_found() -> None:
    """By the checksum of a page, or because its header no longer makes sense."""
    group = TOLD.groups[0]
    data = bytearray(group_data(WHOLE, group))
    data[len(data) // 2] ^= 0x10
    with pytest.raises(CorruptParquet, match="row group 0"):
        parquet_v1.read_group(TOLD.footer, 0, group.position, data, parquet_v1.SCHEMA.names)


@settings(max_examples=200)
@given(st.integers(0, len(TOLD.tail) - 9), st.integers(1, 255))
def test_a_damaged_footer_is_found_before_pyarrow_sees_it(at: int, change: int) -> None:
    """Some such footers end the process inside pyarrow."""
    spoilt = bytearray(TOLD.tail)
    spoilt[at] ^= change
    with pytest.raises(CorruptParquet, match="should have CRC"):
        parquet_v1.read_footer(spoilt, TOLD.crc)


def test_a_sound_footer_has_its_checksum() -> None:
    assert parquet_v1.tail_crc(TOLD.tail) == TOLD.crc
    assert parquet_v1.row_groups(parquet_v1.read_footer(WHOLE, TOLD.crc)) == TOLD.groups


def test_a_foreign_file_without_statistics_is_told_as_such() -> None:
    output = io.BytesIO()
    pq.write_table(pa.Table.from_batches([some_rows(0, 3)]), output, write_statistics=False)
    footer = parquet_v1.read_footer(output.getvalue())
    with pytest.raises(ForeignParquet, match="least and greatest offset"):
        parquet_v1.row_groups(footer)


@pytest.mark.parametrize("column", [pa.array(["a", "b"]), pa.array([0.5, 1.5])])
def test_a_foreign_file_with_other_offsets_is_told_as_such(column: pa.Array) -> None:
    output = io.BytesIO()
    pq.write_table(pa.table({"offset": column, "timestamp": column}), output)
    with pytest.raises(ForeignParquet, match="column offset holds"):
        parquet_v1.row_groups(parquet_v1.read_footer(output.getvalue()))


def test_timestamps_at_the_edge_are_told() -> None:
    rows = some_rows(0, 2)
    edge = pa.array([-MILLIS_MAX * 1000, MILLIS_MAX * 1000], pa.int64())
    rows = rows.set_column(2, rows.schema.field(2), edge.cast(rows.schema.field(2).type))
    _, told = written([rows])
    assert (told.min_timestamp_ms, told.max_timestamp_ms) == (-MILLIS_MAX, MILLIS_MAX)
