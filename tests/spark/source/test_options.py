"""Options of a reader: values that are accepted, and errors for the rest."""

import pytest

from dray.spark.errors import InvalidOption
from dray.spark.source.options import ReadOptions, batch_options, stream_options
from dray.spark.source.positions import AtOffset, AtTime, Earliest, Latest, Positions


def _batch(**options: str) -> ReadOptions:
    return batch_options({"topic": "t"} | options)


def _stream(*, limits: bool = True, **options: str) -> ReadOptions:
    return stream_options({"topic": "t"} | options, limits=limits)


def test_topic_is_the_only_required_option() -> None:
    assert _batch() == ReadOptions("t", None, Positions(Earliest()), Positions(Latest()))
    assert _stream().start == Positions(Latest())


def test_path_of_load_names_the_topic() -> None:
    assert batch_options({"path": "a.b-c"}).topic == "a.b-c"
    assert batch_options({"path": "a", "topic": "a"}).topic == "a"


def test_option_names_are_case_insensitive() -> None:
    options = {"TOPIC": "t", "startingoffsets": "EARLIEST", "FAILONDATALOSS": "False", "minpartitions": "3"}
    assert batch_options(options) == ReadOptions(
        "t", None, Positions(Earliest()), Positions(Latest()), fail_on_data_loss=False, partitions_min=3
    )


def test_partitions_option_takes_numbers_and_ranges() -> None:
    assert _batch(partitions="5-7, 0,2,6").partitions == (0, 2, 5, 6, 7)


def test_offsets_are_given_by_partition() -> None:
    each = {0: AtOffset(23), 1: Earliest(), 2: AtOffset(0)}
    assert _batch(startingOffsets='{"0": 23, "1": -2, "2": 0}').start.each == each
    assert _batch(startingOffsets='{"t": {"0": 23, "1": -2, "2": 0}}').start.each == each
    assert _batch(endingOffsets='{"0": -1}').end.each == {0: Latest()}


def test_partition_may_have_an_empty_range() -> None:
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
def test_timestamps_are_milliseconds_or_iso(text: str, time_ms: int) -> None:
    assert _batch(startingTimestamp=text).start == Positions(AtTime(time_ms))
    assert _stream(startingTimestamp=text).start == Positions(AtTime(time_ms))


@pytest.mark.parametrize(("text", "size"), [("1", 1), ("4MiB", 4 << 20), ("8 kb", 8_000)])
def test_size_may_have_a_unit(text: str, size: int) -> None:
    assert _batch(maxPartitionBytes=text).partition_bytes_max == size


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"startingOfsets": "latest"}, "did you mean startingOffsets"),
        ({"datadir": "/x"}, "did you mean data_dir"),
        ({"kafka.bootstrap.servers": "x"}, "is not an option of the reader"),
        ({"partitions": ""}, "such as 0,2,5-7"),
        ({"partitions": "3-1"}, "such as 0,2,5-7"),
        ({"partitions": "0-999999999"}, "such as 0,2,5-7"),
        ({"partitions": "-1"}, "such as 0,2,5-7"),
        ({"startingOffsets": "soon"}, "expected earliest, latest, or JSON"),
        ({"startingOffsets": "[" * 100_000}, "expected earliest, latest, or JSON"),
        ({"startingOffsets": "{}"}, "expected an object"),
        ({"startingOffsets": "[1]"}, "expected an object"),
        ({"startingOffsets": '{"0": 1, "0": 2}'}, "names a partition twice"),
        ({"startingOffsets": '{"zero": 1}'}, "not a partition number"),
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
        (
            {"startingOffsets": '{"0": 5}', "endingOffsets": '{"0": 4}'},
            "end at offset 4, before its start at 5",
        ),
        ({"startingOffsets": "earliest", "startingTimestamp": "1"}, "are both given"),
        ({"endingOffsets": "latest", "endingTimestamp": "1"}, "are both given"),
        ({"startingTimestamp": "2", "endingTimestamp": "1"}, "is before"),
        ({"startingTimestamp": "yesterday"}, "expected milliseconds since 1970"),
        ({"startingTimestamp": "2023-11-14T22:13:20"}, "has no zone"),
        ({"startingTimestamp": "-1"}, "expected milliseconds"),
        ({"startingTimestamp": "999999999999999999"}, "year 9999"),
        ({"startingTimestamp": "1969-12-31T23:59:59Z"}, "1970"),
        ({"failOnDataLoss": "maybe"}, "expected true or false"),
        ({"minPartitions": "0"}, "at least 1"),
        ({"maxPartitionBytes": "0"}, "expected a size"),
        ({"maxPartitionBytes": "1 parsec"}, "expected a size"),
        ({"maxRecordsPerTrigger": "5"}, "applies to readStream only"),
        ({"path": "other"}, "use one"),
        ({"topic": "a/b"}, "not a valid topic name"),
        ({"topic": ""}, "not a valid topic name"),
        ({"topic": ".."}, "not a valid topic name"),
        ({"topic": "x" * 250}, "not a valid topic name"),
    ],
)
def test_invalid_option_is_refused(options: dict[str, str], error: str) -> None:
    with pytest.raises(InvalidOption, match=error):
        _batch(**options)


def test_missing_topic_is_refused() -> None:
    with pytest.raises(InvalidOption, match="no topic; set"):
        batch_options({})


@pytest.mark.parametrize("name", ["endingOffsets", "endingTimestamp"])
def test_stream_refuses_ending_options(name: str) -> None:
    with pytest.raises(InvalidOption, match="a stream has no end"):
        stream_options({"topic": "t", name: "1"}, limits=True)


def test_trigger_limit_requires_spark_4_2() -> None:
    assert _stream(maxRecordsPerTrigger="50").records_per_trigger_max == 50
    with pytest.raises(InvalidOption, match=r"needs Spark 4\.2"):
        _stream(limits=False, maxRecordsPerTrigger="50")
    with pytest.raises(InvalidOption, match="at least 1"):
        _stream(maxRecordsPerTrigger="0")
