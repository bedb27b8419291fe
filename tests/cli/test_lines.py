"""Lines to records and back."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.cli.lines.json_lines import format_json, read_json
from dray.cli.lines.text_lines import unescape
from dray.cli.render.formats import iso, parse_iso, table
from dray.client import ConsumerRecord

texts = st.text(st.characters(codec="utf-8"))
maybe_bytes = st.none() | st.binary() | texts.map(str.encode)
records = st.builds(
    ConsumerRecord,
    partition=st.integers(0, 2**31 - 1),
    offset=st.integers(0, 2**63 - 1),
    timestamp_ms=st.integers(-1, 2**63 - 1),
    key=maybe_bytes,
    value=maybe_bytes,
    headers=st.lists(st.tuples(texts, maybe_bytes), max_size=3).map(tuple),
)

whole = st.integers(-(2**63), 2**63 - 1) | st.booleans()
not_text = st.recursive(whole, lambda inner: st.lists(inner) | st.dictionaries(texts, inner))


@given(records)
def test_json_line_reads_back_as_the_record_it_was_formatted_from(record: ConsumerRecord) -> None:
    line = format_json(record)
    assert line.count(b"\n") == 1
    found = read_json(5, line)
    assert found is not None
    assert (found.line, found.partition) == (5, record.partition)
    assert (found.key, found.value, found.headers) == (record.key, record.value, record.headers)
    assert found.timestamp_ms == record.timestamp_ms


@given(not_text)
def test_json_value_other_than_text_is_sent_verbatim(value: object) -> None:
    text = msgspec.json.encode(value)
    found = read_json(1, b'{"value": ' + text + b"}")
    assert found is not None
    assert found.value == text


def test_escapes_are_replaced() -> None:
    assert unescape(r"a\tb\n\r\0\\\x41é") == "a\tb\n\r\0\\Aé".encode()
    for wrong in ["\\", r"\q", r"\x4"]:
        with pytest.raises(ValueError, match="is not an escape"):
            unescape(wrong)


@given(st.integers(0, 253_402_300_799_999))
def test_iso_time_round_trip(ms: int) -> None:
    assert parse_iso(iso(ms)) == ms


def test_times_beyond_the_calendar_stay_numbers() -> None:
    assert iso(-1) == "-1"
    assert iso(2**62) == str(2**62)


def test_iso_time_honors_its_zone() -> None:
    assert parse_iso("2026-01-31T08:00Z") - parse_iso("2026-01-31T08:00+02:00") == 2 * 3600 * 1000


def test_table_aligns_columns() -> None:
    assert table(["name", "n"], [("a", 1), ("bcdef", 200)]) == ["name     n", "a        1", "bcdef  200"]
    assert table(["name", "n"], []) == ["name  n"]


def test_long_cell_widens_only_its_own_line() -> None:
    long = "x" * 249
    assert table(["name", "n"], [("a" * 60, 1), (long, 20)]) == [
        "name" + " " * 56 + "   n",
        "a" * 60 + "   1",
        long + "  20",
    ]
