"""What may be asked of a reader, and what it says about the rest."""

import pytest

from dray.pipeline.spark.options import OptionWrong
from dray.pipeline.spark.source.options import ReadOptions, batch_options, stream_options
from dray.pipeline.spark.source.positions import AtOffset, AtTime, Earliest, Latest, Positions


def _batch(**options: str) -> ReadOptions:
    return batch_options({"topic": "t"} | options)


def _stream(*, limits: bool = True, **options: str) -> ReadOptions:
    return stream_options({"topic": "t"} | options, limits=limits)


def test_a_topic_is_enough() -> None:
    assert _batch() == ReadOptions("t", None, Positions(Earliest()), Positions(Latest()))
    assert _stream().start == Positions(Latest())


def test_load_may_name_the_topic() -> None:
    assert batch_options({"path": "a.b-c"}).topic == "a.b-c"
    assert batch_options({"path": "a", "topic": "a"}).topic == "a"


def test_names_do_not_tell_capitals_from_small_letters() -> None:
    options = {"TOPIC": "t", "startingoffsets": "EARLIEST", "FAILONDATALOSS": "False", "minpartitions": "3"}
    assert batch_options(options) == ReadOptions(
        "t", None, Positions(Earliest()), Positions(Latest()), fail_on_data_loss=False, partitions_min=3
    )


def test_partitions_are_numbers_and_ranges() -> None:
    assert _batch(partitions="5-7, 0,2,6").partitions == (0, 2, 5, 6, 7)


def test_offsets_are_given_by_partition() -> None:
    each = {0: AtOffset(23), 1: Earliest(), 2: AtOffset(0)}
    assert _batch(startingOffsets='{"0": 23, "1": -2, "2": 0}').start.each == each
    assert _batch(startingOffsets='{"t": {"0": 23, "1": -2, "2": 0}}').start.each == each
    assert _batch(endingOffsets='{"0": -1}').end.each == {0: Latest()}


def test_some_partitions_may_have_nothing_to_read() -> None:
    read = _batch(startingOffsets='{"0": 10, "1": -1}', endingOffsets='{"0": -1, "1": -2}')
    assert read.start.each == {0: AtOffset(10), 1: Latest()}
    assert read.end.each == {0: Latest(), 1: Earliest()}


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("0", 0),
        ("1700000000123", 1_700_000_000_123),
        ("2023-11-14T22:13:20.123Z", 1_700_000_000_123),
        ("2023-11-14T22:13:20.1221+00:00", 1_700_000_000_123),
        ("2023-11-15T00:13:20.123+02:00", 1_700_000_000_123),
    ],
)
def test_times_are_milliseconds_or_iso(text: str, time_ms: int) -> None:
    assert _batch(startingTimestamp=text).start == Positions(AtTime(time_ms))
    assert _stream(startingTimestamp=text).start == Positions(AtTime(time_ms))


@pytest.mark.parametrize(("text", "size"), [("1", 1), ("4MiB", 4 << 20), ("8 kb", 8_000)])
def test_sizes_may_have_a_unit(text: str, size: int) -> None:
    assert _batch(maxPartitionBytes=text).partition_bytes_max == size


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"startingOfsets": "latest"}, "did you mean startingOffsets"),
        ({"datadir": "/x"}, "did you mean data_dir"),
        ({"kafka.bootstrap.servers": "x"}, "is no option of the reader"),
        ({"partitions": ""}, "such as 0,2,5-7"),
        ({"partitions": "3-1"}, "such as 0,2,5-7"),
        ({"partitions": "0-999999999"}, "such as 0,2,5-7"),
        ({"partitions": "-1"}, "such as 0,2,5-7"),
        ({"startingOffsets": "soon"}, "expected earliest, latest, or JSON"),
        ({"startingOffsets": "[" * 100_000}, "expected earliest, latest, or JSON"),
        ({"startingOffsets": "{}"}, "expected an object"),
        ({"startingOffsets": "[1]"}, "expected an object"),
        ({"startingOffsets": '{"0": 1, "0": 2}'}, "names a partition twice"),
        ({"startingOffsets": '{"zero": 1}'}, "not the number of a partition"),
        ({"startingOffsets": '{"0": 1.5}'}, "expected an offset"),
        ({"startingOffsets": '{"0": true}'}, "expected an offset"),
        ({"startingOffsets": '{"0": -3}'}, "expected an offset"),
        ({"startingOffsets": '{"0": 9223372036854775808}'}, "expected an offset"),
        ({"startingOffsets": "latest"}, "nothing to read"),
        ({"startingOffsets": '{"0": -1}'}, "nothing to read"),
        ({"startingOffsets": '{"0": -1, "1": -1}'}, "nothing to read"),
        ({"endingOffsets": "earliest"}, "nothing to read"),
        ({"endingOffsets": '{"0": -2}'}, "nothing to read"),
        ({"endingOffsets": '{"0": -2, "1": -2}'}, "nothing to read"),
        ({"startingOffsets": '{"0": 5}', "endingOffsets": '{"0": 4}'}, "end at offset 4 and start at 5"),
        ({"startingOffsets": "earliest", "startingTimestamp": "1"}, "are both given"),
        ({"endingOffsets": "latest", "endingTimestamp": "1"}, "are both given"),
        ({"startingTimestamp": "2", "endingTimestamp": "1"}, "is before"),
        ({"startingTimestamp": "yesterday"}, "expected milliseconds since 1970"),
        ({"startingTimestamp": "2023-11-14T22:13:20"}, "tells no zone"),
        ({"startingTimestamp": "-1"}, "expected milliseconds"),
        ({"startingTimestamp": "999999999999999999"}, "year 9999"),
        ({"startingTimestamp": "1969-12-31T23:59:59Z"}, "1970"),
        ({"failOnDataLoss": "maybe"}, "expected true or false"),
        ({"minPartitions": "0"}, "at least 1"),
        ({"maxPartitionBytes": "0"}, "expected a size"),
        ({"maxPartitionBytes": "1 parsec"}, "expected a size"),
        ({"maxRecordsPerTrigger": "5"}, "is for readStream"),
        ({"path": "other"}, "give one of them"),
        ({"topic": "a/b"}, "not the name of a topic"),
        ({"topic": ""}, "not the name of a topic"),
        ({"topic": ".."}, "not the name of a topic"),
        ({"topic": "x" * 250}, "not the name of a topic"),
    ],
)
def test_what_makes_no_sense_is_told(options: dict[str, str], said: str) -> None:
    with pytest.raises(OptionWrong, match=said):
        _batch(**options)


def test_no_topic_is_told() -> None:
    with pytest.raises(OptionWrong, match="no topic is given"):
        batch_options({})


@pytest.mark.parametrize("name", ["endingOffsets", "endingTimestamp"])
def test_a_stream_has_no_end(name: str) -> None:
    with pytest.raises(OptionWrong, match="a stream has no end"):
        stream_options({"topic": "t", name: "1"}, limits=True)


def test_a_trigger_is_bounded_where_spark_can() -> None:
    assert _stream(maxRecordsPerTrigger="50").records_per_trigger_max == 50
    with pytest.raises(OptionWrong, match=r"needs Spark 4\.2"):
        _stream(limits=False, maxRecordsPerTrigger="50")
    with pytest.raises(OptionWrong, match="at least 1"):
        _stream(maxRecordsPerTrigger="0")
