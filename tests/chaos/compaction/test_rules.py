"""The rules of compaction find what they should, and nothing else."""

from tests.chaos.compaction.rules import (
    Extent,
    equality_violations,
    leftover_violations,
    reference_violations,
    table_violations,
)
from tests.chaos.compaction.seen import Seen

EXTENT = Extent(4, 8)
ROWS = [(offset, f"zstd/0/{offset}") for offset in range(3, 9)]


def seen(rows: list[tuple[int, str]]) -> Seen:
    made = Seen()
    for offset, name in rows:
        made.add("somebody", 0, offset, name)
    return made


def violations(rows: list[tuple[int, str]], extent: Extent = EXTENT) -> list[str]:
    return table_violations({0: rows}, {0: extent}, seen(ROWS))


def test_a_table_may_reach_further_than_it_must() -> None:
    assert violations(ROWS) == []
    assert violations(ROWS, Extent(3, 9)) == []


def test_what_a_table_lacks_is_found() -> None:
    for lacking in (ROWS[2:], ROWS[:-2], [*ROWS[:2], *ROWS[3:]], []):
        (told,) = violations(lacking)
        assert told.startswith("whole: ")


def test_what_is_before_the_log_may_go_in_any_order() -> None:
    assert violations([(0, "zstd/0/0"), (2, "zstd/0/2"), *ROWS[1:]]) == []
    (told,) = violations([ROWS[0], *ROWS[2:]])
    assert (
        told == "whole: partition 0 has rows 5 to 8, it should have those of Extent(log_start=4, compacted=8)"
    )


def test_what_a_table_has_twice_is_found() -> None:
    (told,) = violations(sorted([*ROWS, ROWS[2]]))
    assert told == "whole: partition 0 has 5 again in its table"


def test_a_partition_of_which_nothing_is_compacted_needs_no_rows() -> None:
    assert violations([], Extent(7, 7)) == []


def test_a_row_that_the_stream_never_had_is_found() -> None:
    (told,) = violations([*ROWS[:2], (5, "gzip/0/1"), *ROWS[3:]])
    assert told == "same: row 5 of partition 0 is gzip/0/1, the stream had zstd/0/5"
    (told,) = violations([*ROWS, (9, "damaged: what")])
    assert told.startswith("same: row 9 ")


def test_stream_and_table_are_compared_record_by_record() -> None:
    assert equality_violations({0: ROWS}, {0: ROWS}) == []
    (told,) = equality_violations({0: ROWS[:-1]}, {0: ROWS})
    assert told == "whole: partition 0 has 5 rows and 6 records, which differ at an end"
    assert equality_violations({0: ROWS[1:]}, {0: ROWS})
    assert equality_violations({}, {0: ROWS})


def test_what_is_named_and_what_is_there_must_be_the_same() -> None:
    assert reference_violations({"a"}, {"a", "b"}, "the index") == []
    assert reference_violations({"a"}, {"b"}, "the index") == [
        "there: a, which the index names, is not in the store"
    ]
    assert leftover_violations({"a", "b"}, {"a"}) == []
    assert leftover_violations({"a"}, {"a", "b"}) == ["nothing: b is left, and nothing names it"]


def test_a_record_that_changes_is_noticed_by_whoever_reads_it_next() -> None:
    watched = seen(ROWS)
    watched.add("rereader", 0, 4, "zstd/0/4")
    assert watched.wrong == []
    watched.add("rereader", 0, 4, "zstd/0/5")
    assert watched.wrong == ["same: rereader read zstd/0/5 at 4 of partition 0, before it was zstd/0/4"]


def test_how_far_everything_was_seen() -> None:
    watched = seen([(0, "a"), (1, "b"), (3, "d")])
    assert watched.end(0) == 2
    assert watched.end(1) == 0
    assert watched.before(0, 3) == [(0, "a"), (1, "b")]
