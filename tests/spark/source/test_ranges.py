"""Positions to offset ranges; offsets that are not in the log are an error, unless they may be skipped."""

import pytest

from dray.ids import StreamId
from dray.index import StreamHead
from dray.scan.ranges import OffsetRange, Partition
from dray.spark.errors import DataLost, InvalidOption
from dray.spark.source.options import ReadOptions, batch_options
from dray.spark.source.ranges import check_complete, chosen, resolved

PARTITION = Partition(1, StreamId(9), StreamHead(high_watermark=100, log_start=10))


def _options(**options: str) -> ReadOptions:
    return batch_options({"topic": "t"} | options)


def _range(options: dict[str, str], times: dict[int, int] | None = None) -> tuple[int, int]:
    found = resolved(
        _options(**options), PARTITION, {(1, time): offset for time, offset in (times or {}).items()}
    )
    assert (found.partition, found.stream) == (1, 9)
    return found.first_offset, found.end_offset


def test_default_range_is_the_whole_log() -> None:
    assert _range({}) == (10, 100)


def test_offsets_and_timestamps_set_the_range() -> None:
    assert _range({"startingOffsets": '{"1": 20}', "endingOffsets": '{"1": 30}'}) == (20, 30)
    assert _range({"startingOffsets": '{"1": 100}'}) == (100, 100)
    assert _range({"startingTimestamp": "5", "endingTimestamp": "6"}, {5: 40, 6: 60}) == (40, 60)
    assert _range({"startingOffsets": '{"1": 60}', "endingTimestamp": "5"}, {5: 40}) == (60, 60)


@pytest.mark.parametrize(
    ("options", "empty"),
    [
        ({"startingOffsets": '{"0": 0, "1": -1}'}, (100, 100)),
        ({"startingOffsets": '{"0": 0, "1": -1}', "endingOffsets": '{"0": 9, "1": 30}'}, (100, 100)),
        ({"endingOffsets": '{"0": 9, "1": -2}'}, (10, 10)),
        ({"startingOffsets": '{"0": 0, "1": 20}', "endingOffsets": '{"0": 9, "1": -2}'}, (20, 20)),
    ],
)
def test_range_from_latest_or_to_earliest_is_empty(options: dict[str, str], empty: tuple[int, int]) -> None:
    assert _range(options) == empty


@pytest.mark.parametrize(
    ("options", "error", "rest"),
    [
        ({"startingOffsets": '{"1": 5}'}, "offsets 5 to 9 are no longer in the log", (10, 100)),
        (
            {"startingOffsets": '{"1": 5}', "endingOffsets": '{"1": 8}'},
            "offsets 5 to 7 are no longer in the log",
            (10, 10),
        ),
        ({"endingOffsets": '{"1": 101}'}, "offset 101 was requested, but the log ends at 100", (10, 100)),
        ({"startingOffsets": '{"1": 120}'}, "offset 120 was requested", (100, 100)),
    ],
)
def test_missing_offsets_are_an_error_or_skipped(
    options: dict[str, str], error: str, rest: tuple[int, int]
) -> None:
    with pytest.raises(DataLost, match=f"partition 1: {error}"):
        _range(options)
    assert _range(options | {"failOnDataLoss": "false"}) == rest


def test_unknown_partition_is_refused() -> None:
    assert chosen(_options(), 3) == (0, 1, 2)
    assert chosen(_options(partitions="2,0"), 3) == (0, 2)
    with pytest.raises(InvalidOption, match="topic 't' has no partition 3"):
        chosen(_options(partitions="1,3-5"), 3)


def test_offsets_must_name_exactly_the_partitions_read() -> None:
    positions = _options(startingOffsets='{"0": 1, "1": 2}').start
    check_complete("startingOffsets", positions, (0, 1))
    with pytest.raises(InvalidOption, match="startingOffsets has no offset for partition 2"):
        check_complete("startingOffsets", positions, (0, 1, 2))
    with pytest.raises(InvalidOption, match="partition 1, which is not read"):
        check_complete("startingOffsets", positions, (0,))


def test_range_inside_the_log_is_unchanged() -> None:
    wanted = resolved(_options(startingOffsets='{"1": 10}'), PARTITION, {})
    assert wanted == OffsetRange(1, StreamId(9), 10, 100)
