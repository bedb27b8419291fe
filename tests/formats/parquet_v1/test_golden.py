"""Golden Parquet file, and the page that explains it. See golden/README.md."""

import io
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dray.formats import parquet_v1
from dray.records.columns import encode
from tests.formats.parquet_v1.builders import group_data, written

GOLDEN = Path(__file__).parent / "golden" / "parquet-v1.parquet"
PAGE = Path(__file__).parents[3] / "docs" / "formats" / "parquet-v1.md"
T_US = 1_700_000_000_000_000
LOG_APPEND_TIME, LATIN_1 = 1 << 3, 1 << 16


def _row(offset: int, **fields: Any) -> dict[str, Any]:
    plain = {"partition": 3, "timestamp": T_US + offset * 1_000, "headers": [], "attributes": 0}
    return {**plain, "offset": offset, **fields}


ROWS = [
    _row(7, key=b"a", value=b"1", headers=[{"key": "h", "value": b"x"}, {"key": "h", "value": None}]),
    _row(8, key=None, value=b"2"),
    _row(9, key=b"", value=None, attributes=LOG_APPEND_TIME),
    _row(12, key=b"b", value=b"\x00\xff" * 40, headers=[{"key": "\xe9", "value": b""}], attributes=LATIN_1),
    _row(13, key=b"c", value=b"5", timestamp=-1_000),
]
GROUP_BYTES = 180


def _made() -> tuple[bytes, parquet_v1.WrittenFile]:
    rows = pa.RecordBatch.from_pylist(ROWS, parquet_v1.SCHEMA)
    return written([rows], group_bytes=GROUP_BYTES)


def _footer(whole: bytes) -> parquet_v1.Footer:
    return parquet_v1.read_footer(whole[-100_000:])


def _read(whole: bytes) -> list[dict[str, Any]]:
    footer = _footer(whole)
    return [
        row
        for number, group in enumerate(parquet_v1.row_groups(footer))
        for row in parquet_v1.read_group(
            footer, number, group.position, group_data(whole, group), parquet_v1.SCHEMA.names
        ).to_pylist()
    ]


def test_broker_reads_its_rows() -> None:
    expected = pa.RecordBatch.from_pylist(ROWS, parquet_v1.SCHEMA).to_pylist()
    assert _read(GOLDEN.read_bytes()) == expected
    assert expected[-1]["timestamp"] == datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)


def test_pyarrow_reads_its_rows() -> None:
    assert pq.read_table(GOLDEN).to_pylist() == _read(GOLDEN.read_bytes())


def test_its_records_are_served() -> None:
    whole = GOLDEN.read_bytes()
    footer = _footer(whole)
    offsets = []
    for number, group in enumerate(parquet_v1.row_groups(footer)):
        data = group_data(whole, group)
        spans = encode(parquet_v1.read_group(footer, number, group.position, data)).spans
        offsets += [(span.base_offset, span.last_offset) for span in spans]
    assert offsets[0][0] == 7
    assert offsets[-1][1] == 13


def test_writer_produces_an_equal_file() -> None:
    whole, file = _made()
    assert _read(whole) == _read(GOLDEN.read_bytes())
    assert _described(whole) == _described(GOLDEN.read_bytes())
    assert file.row_count == len(ROWS)


def _described(whole: bytes) -> list[object]:
    """Return the parts of the footer that do not depend on the version of pyarrow."""
    metadata = pq.ParquetFile(io.BytesIO(whole)).metadata
    description: list[object] = [metadata.num_rows, metadata.format_version, metadata.metadata]
    description.append(str(metadata.schema).split("\n", 1)[1])
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for column in (group.column(at) for at in range(group.num_columns)):
            statistics = column.statistics
            bounds = (statistics.min_raw, statistics.max_raw) if statistics else None
            description.append((column.path_in_schema, column.compression, column.encodings, bounds))
    return description


def test_page_describes_the_file() -> None:
    text = PAGE.read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z_.]+)` \| (\d+) \|", text, re.MULTILINE)
    fields = {field.name: int(field.metadata[b"PARQUET:field_id"]) for field in parquet_v1.SCHEMA}
    nested = {"headers.element": 12, "headers.element.key": 13, "headers.element.value": 14}
    assert {name: int(number) for name, number in listed} == {**fields, **nested}
    for row in ROWS:
        assert f"| {row['offset']} |" in text
    footer = _footer(GOLDEN.read_bytes())
    groups = parquet_v1.row_groups(footer)
    assert f"{len(groups)} row groups" in text
    assert f"{GOLDEN.stat().st_size} bytes" in text
    assert f"{footer.tail_bytes} bytes" in text
    tail = GOLDEN.read_bytes()[-footer.tail_bytes :]
    assert f"`{parquet_v1.tail_crc(tail):08x}`" in text
