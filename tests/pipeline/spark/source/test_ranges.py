"""Positions become ranges; what the log does not hold is an error, unless it may be left out."""

import pytest

from dray.ids import StreamId
from dray.index import StreamHead
from dray.pipeline.reading.stretches import Partition, Wanted
from dray.pipeline.spark.options import OptionWrong
from dray.pipeline.spark.source.errors import DataLost
from dray.pipeline.spark.source.options import ReadOptions, batch_options
from dray.pipeline.spark.source.ranges import check_complete, chosen, resolved

PARTITION = Partition(1, StreamId(9), StreamHead(high_watermark=100, log_start=10))


def _options(**options: str) -> ReadOptions:
    return batch_options({"topic": "t"} | options)


def _range(options: dict[str, str], times: dict[int, int] | None = None) -> tuple[int, int]:
    found = resolved(
        _options(**options), PARTITION, {(1, time): offset for time, offset in (times or {}).items()}
    )
    assert (found.partition, found.stream) == (1, 9)
    return found.first_offset, found.end_offset


def test_everything_is_what_the_log_holds() -> None:
    assert _range({}) == (10, 100)


def test_offsets_and_times_are_taken_as_found() -> None:
    assert _range({"startingOffsets": '{"1": 20}', "endingOffsets": '{"1": 30}'}) == (20, 30)
    assert _range({"startingOffsets": '{"1": 100}'}) == (100, 100)
    assert _range({"startingTimestamp": "5", "endingTimestamp": "6"}, {5: 40, 6: 60}) == (40, 60)
    assert _range({"startingOffsets": '{"1": 60}', "endingTimestamp": "5"}, {5: 40}) == (60, 60)


@pytest.mark.parametrize(
    ("options", "nothing"),
    [
        ({"startingOffsets": '{"0": 0, "1": -1}'}, (100, 100)),
        ({"startingOffsets": '{"0": 0, "1": -1}', "endingOffsets": '{"0": 9, "1": 30}'}, (100, 100)),
        ({"endingOffsets": '{"0": 9, "1": -2}'}, (10, 10)),
        ({"startingOffsets": '{"0": 0, "1": 20}', "endingOffsets": '{"0": 9, "1": -2}'}, (20, 20)),
    ],
)
def test_from_the_latest_and_up_to_the_earliest_there_is_nothing(
    options: dict[str, str], nothing: tuple[int, int]
) -> None:
    assert _range(options) == nothing


@pytest.mark.parametrize(
    ("options", "said", "left"),
    [
        ({"startingOffsets": '{"1": 5}'}, "offsets 5 to 9 are not in the log any more", (10, 100)),
        (
            {"startingOffsets": '{"1": 5}', "endingOffsets": '{"1": 8}'},
            "offsets 5 to 7 are not in the log any more",
            (10, 10),
        ),
        ({"endingOffsets": '{"1": 101}'}, "offset 101 was asked for, and the log ends at 100", (10, 100)),
        ({"startingOffsets": '{"1": 120}'}, "offset 120 was asked for", (100, 100)),
    ],
)
def test_what_is_not_there_is_lost(options: dict[str, str], said: str, left: tuple[int, int]) -> None:
    with pytest.raises(DataLost, match=f"partition 1: {said}"):
        _range(options)
    assert _range(options | {"failOnDataLoss": "false"}) == left


def test_partitions_must_be_there() -> None:
    assert chosen(_options(), 3) == (0, 1, 2)
    assert chosen(_options(partitions="2,0"), 3) == (0, 2)
    with pytest.raises(OptionWrong, match="names 3, and the topic t has 3"):
        chosen(_options(partitions="1,3-5"), 3)


def test_offsets_are_given_for_just_the_partitions_read() -> None:
    positions = _options(startingOffsets='{"0": 1, "1": 2}').start
    check_complete("startingOffsets", positions, (0, 1))
    with pytest.raises(OptionWrong, match="startingOffsets gives no offset for partition 2"):
        check_complete("startingOffsets", positions, (0, 1, 2))
    with pytest.raises(OptionWrong, match="partition 1, which is not read"):
        check_complete("startingOffsets", positions, (0,))


def test_a_range_that_is_all_held_is_left_as_it_is() -> None:
    wanted = resolved(_options(startingOffsets='{"1": 10}'), PARTITION, {})
    assert wanted == Wanted(1, StreamId(9), 10, 100)
