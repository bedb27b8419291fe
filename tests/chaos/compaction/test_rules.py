"""Rules of compaction: violations are reported, and correct histories accepted."""

from tests.chaos.compaction.observations import Observations
from tests.chaos.compaction.rules import (
    Extent,
    equality_violations,
    leftover_violations,
    reference_violations,
    table_violations,
)

EXTENT = Extent(4, 8)
ROWS = [(offset, f"zstd/0/{offset}") for offset in range(3, 9)]


def seen(rows: list[tuple[int, str]]) -> Observations:
    made = Observations()
    for offset, name in rows:
        made.add("consumer", 0, offset, name)
    return made


def violations(rows: list[tuple[int, str]], extent: Extent = EXTENT) -> list[str]:
    return table_violations({0: rows}, {0: extent}, seen(ROWS))


def test_table_may_have_more_offsets_than_it_must() -> None:
    assert violations(ROWS) == []
    assert violations(ROWS, Extent(3, 9)) == []


def test_missing_rows_are_reported() -> None:
    for incomplete in (ROWS[2:], ROWS[:-2], [*ROWS[:2], *ROWS[3:]], []):
        (violation,) = violations(incomplete)
        assert violation.startswith("complete: ")


def test_rows_before_the_log_start_may_be_removed_in_any_order() -> None:
    assert violations([(0, "zstd/0/0"), (2, "zstd/0/2"), *ROWS[1:]]) == []
    (violation,) = violations([ROWS[0], *ROWS[2:]])
    assert violation == "complete: partition 0 has rows 5 to 8, expected Extent(log_start=4, compacted=8)"


def test_duplicate_row_is_reported() -> None:
    (violation,) = violations(sorted([*ROWS, ROWS[2]]))
    assert violation == "complete: the table of partition 0 has 5 again"


def test_partition_that_is_not_compacted_needs_no_rows() -> None:
    assert violations([], Extent(7, 7)) == []


def test_row_that_was_never_in_the_stream_is_reported() -> None:
    (violation,) = violations([*ROWS[:2], (5, "gzip/0/1"), *ROWS[3:]])
    assert violation == "equal: row 5 of partition 0 is gzip/0/1, the stream had zstd/0/5"
    (violation,) = violations([*ROWS, (9, "corrupt: x")])
    assert violation.startswith("equal: row 9 ")


def test_stream_and_table_are_compared_record_by_record() -> None:
    assert equality_violations({0: ROWS}, {0: ROWS}) == []
    (violation,) = equality_violations({0: ROWS[:-1]}, {0: ROWS})
    assert violation == "complete: partition 0 has 5 rows and 6 records, which differ at an end"
    assert equality_violations({0: ROWS[1:]}, {0: ROWS})
    assert equality_violations({}, {0: ROWS})


def test_referenced_and_stored_objects_must_match() -> None:
    assert reference_violations({"a"}, {"a", "b"}, "the index") == []
    assert reference_violations({"a"}, {"b"}, "the index") == [
        "referenced: a, referenced by the index, is not in the store"
    ]
    assert leftover_violations({"a", "b"}, {"a"}) == []
    assert leftover_violations({"a"}, {"a", "b"}) == ["leftover: b is not referenced"]


def test_record_that_changes_is_reported_at_the_next_read() -> None:
    watched = seen(ROWS)
    watched.add("rereading consumer", 0, 4, "zstd/0/4")
    assert watched.violations == []
    watched.add("rereading consumer", 0, 4, "zstd/0/5")
    assert watched.violations == [
        "equal: the rereading consumer read zstd/0/5 at 4 of partition 0, before: zstd/0/4"
    ]


def test_end_of_the_offsets_seen_stops_at_the_first_gap() -> None:
    watched = seen([(0, "a"), (1, "b"), (3, "d")])
    assert watched.end(0) == 2
    assert watched.end(1) == 0
    assert watched.before(0, 3) == [(0, "a"), (1, "b")]
