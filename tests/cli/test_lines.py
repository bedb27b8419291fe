"""Lines to records and back, without a broker."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.cli.instants import iso, parse_iso
from dray.cli.lines.escapes import unescaped
from dray.cli.lines.json_line import read_json, show_json
from dray.cli.tables import table
from dray.records import Record

texts = st.text(st.characters(codec="utf-8"))
maybe_bytes = st.none() | st.binary() | texts.map(str.encode)
records = st.builds(
    Record,
    offset=st.integers(0, 2**63 - 1),
    timestamp=st.integers(-1, 2**63 - 1),
    key=maybe_bytes,
    value=maybe_bytes,
    headers=st.lists(st.tuples(texts, maybe_bytes), max_size=3).map(tuple),
)

whole = st.integers(-(2**63), 2**63 - 1) | st.booleans()
not_text = st.recursive(whole, lambda inner: st.lists(inner) | st.dictionaries(texts, inner))


@given(records, st.integers(0, 2**31 - 1))
def test_a_json_line_is_read_as_it_was_shown(record: Record, partition: int) -> None:
    shown = show_json(partition, record)
    assert shown.count(b"\n") == 1
    draft = read_json(5, shown)
    assert draft is not None
    assert (draft.line, draft.partition) == (5, partition)
    assert (draft.key, draft.value, draft.headers) == (record.key, record.value, record.headers)
    assert draft.timestamp_ms == record.timestamp


@given(not_text)
def test_json_that_is_not_text_is_sent_letter_for_letter(value: object) -> None:
    text = msgspec.json.encode(value)
    draft = read_json(1, b'{"value": ' + text + b"}")
    assert draft is not None
    assert draft.value == text


def test_escapes() -> None:
    assert unescaped(r"a\tb\n\r\0\\\x41é") == "a\tb\n\r\0\\Aé".encode()
    for wrong in ["\\", r"\q", r"\x4"]:
        with pytest.raises(ValueError, match="is no escape"):
            unescaped(wrong)


@given(st.integers(0, 253_402_300_799_999))
def test_a_time_is_read_as_it_was_shown(ms: int) -> None:
    assert parse_iso(iso(ms)) == ms


def test_times_that_no_calendar_has_stay_numbers() -> None:
    assert iso(-1) == "-1"
    assert iso(2**62) == str(2**62)


def test_zones_count() -> None:
    assert parse_iso("2026-01-31T08:00Z") - parse_iso("2026-01-31T08:00+02:00") == 2 * 3600 * 1000


def test_columns() -> None:
    assert table(["name", "n"], [("a", 1), ("bcdef", 200)]) == ["name     n", "a        1", "bcdef  200"]
    assert table(["name", "n"], []) == ["name  n"]


def test_a_long_name_widens_its_own_line_only() -> None:
    long = "x" * 249
    assert table(["name", "n"], [("a" * 60, 1), (long, 20)]) == [
        "name" + " " * 56 + "   n",
        "a" * 60 + "   1",
        long + "  20",
    ]
