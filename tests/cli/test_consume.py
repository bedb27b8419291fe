"""`dray consume` of records that librdkafka wrote."""

import json

import pytest

from dray.testing.broker import EmbeddedBroker
from tests.cli import librdkafka
from tests.cli.invoking import invoke, invoke_ok, new_topic
from tests.cli.librdkafka import Record

FIRST_MS = 1_700_000_000_000


def numbered(kafka: EmbeddedBroker, count: int, partitions: int = 1) -> str:
    """Create a topic with records 0, 1, 2…, a second apart, round-robin over its partitions."""
    topic = new_topic(kafka, partitions=partitions)
    librdkafka.write(
        kafka,
        topic,
        [
            Record(None, b"%d" % number, (), number % partitions, FIRST_MS + number * 1000)
            for number in range(count)
        ],
    )
    return topic


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_round_trip_with_every_codec(kafka: EmbeddedBroker, codec: str) -> None:
    topic = new_topic(kafka)
    values = [b"%d " % number * 40 for number in range(300)]
    librdkafka.write(kafka, topic, [Record(None, value) for value in values], codec)
    shown = invoke_ok("consume", topic, "--no-follow", kafka=kafka)
    assert shown.out == b"".join(value + b"\n" for value in values)
    assert shown.err == ""


def test_json_output_has_every_field(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka, partitions=2)
    records = [
        Record(b"k", "vé".encode(), (("h", b"1"), ("h", None)), 1, FIRST_MS),
        Record(b"\xff", b"\xfe\x00", (("b", b"\xfd"),), 1, FIRST_MS + 1),
        Record(None, None, (), 1, FIRST_MS + 2),
    ]
    librdkafka.write(kafka, topic, records)
    shown = invoke_ok("consume", topic, "--no-follow", "--json", kafka=kafka)
    assert [json.loads(line) for line in shown.lines] == [
        {
            "partition": 1,
            "offset": 0,
            "timestamp": FIRST_MS,
            "key": "k",
            "value": "vé",
            "headers": [["h", "1"], ["h", None]],
        },
        {
            "partition": 1,
            "offset": 1,
            "timestamp": FIRST_MS + 1,
            "key_base64": "/w==",
            "value_base64": "/gA=",
            "headers": [["b", {"base64": "/Q=="}]],
        },
        {"partition": 1, "offset": 2, "timestamp": FIRST_MS + 2, "key": None, "value": None, "headers": []},
    ]


def test_output_of_keys_headers_nulls_and_patterns(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka)
    headers = (("a", b"1"), ("b", None))
    librdkafka.write(kafka, topic, [Record(b"k", None, headers, 0, FIRST_MS)])

    def shown(*options: str) -> bytes:
        return invoke_ok("consume", topic, "--no-follow", *options, kafka=kafka).out

    assert shown() == b"\n"
    assert shown("--keys", "--null-value", "NULL") == b"k\tNULL\n"
    assert shown("--keys", "--headers", "--null-value", "-") == b"a=1,b=-\tk\t-\n"
    assert shown("--format", r"%p %o %t %T %k %K %v %V %h %%\x41\n") == (
        b"0 0 2023-11-14T22:13:20.000Z 1700000000000 k 1  -1 a=1,b= %A\n"
    )


@pytest.mark.parametrize(
    ("start", "first"),
    [
        ("earliest", 0),
        ("0", 0),
        ("7", 7),
        ("20", 20),
        ("-5", 15),
        ("-50", 0),
        ("-0", 20),
        ("latest", 20),
        (f"@{FIRST_MS + 12_000}", 12),
        (f"@{FIRST_MS + 12_001}", 13),
        (f"@{FIRST_MS + 99_000}", 20),
        ("2023-11-14T22:13:30Z", 10),
        ("2023-11-14T23:13:30+01:00", 10),
        ("1969-01-01", 0),
    ],
)
def test_from_starts_at_the_given_point(kafka: EmbeddedBroker, twenty: str, start: str, first: int) -> None:
    shown = invoke_ok("consume", twenty, "--no-follow", "--from", start, kafka=kafka)
    assert [int(line) for line in shown.lines] == list(range(first, 20))


@pytest.fixture(scope="module")
def twenty(kafka: EmbeddedBroker) -> str:
    return numbered(kafka, 20)


def test_from_negative_n_starts_n_before_the_end_of_each_partition(kafka: EmbeddedBroker) -> None:
    topic = numbered(kafka, 30, partitions=3)
    shown = invoke_ok("consume", topic, "--no-follow", "--from", "-2", kafka=kafka)
    assert sorted(int(line) for line in shown.lines) == list(range(24, 30))


def test_each_partition_is_in_order(kafka: EmbeddedBroker) -> None:
    topic = numbered(kafka, 100, partitions=4)
    shown = invoke_ok("consume", topic, "--no-follow", "--format", r"%p %o %v\n", kafka=kafka)
    rows = [tuple(map(int, line.split())) for line in shown.lines]
    assert len(rows) == 100
    for partition in range(4):
        assert [row[1:] for row in rows if row[0] == partition] == [
            (offset, offset * 4 + partition) for offset in range(25)
        ]


def test_partition_option_reads_one_partition(kafka: EmbeddedBroker) -> None:
    topic = numbered(kafka, 9, partitions=3)
    shown = invoke_ok("consume", topic, "--no-follow", "--partition", "1", kafka=kafka)
    assert shown.lines == ["1", "4", "7"]


def test_max_ends_consume_even_when_following(kafka: EmbeddedBroker, twenty: str) -> None:
    assert invoke_ok("consume", twenty, "--max", "3", kafka=kafka).lines == ["0", "1", "2"]
    assert len(invoke_ok("consume", twenty, "--max", "99", "--no-follow", kafka=kafka).lines) == 20


def test_stats_go_to_standard_error(kafka: EmbeddedBroker, twenty: str) -> None:
    shown = invoke_ok("consume", twenty, "--no-follow", "--stats", kafka=kafka)
    assert len(shown.lines) == 20
    assert "read 20 records, 30 bytes in " in shown.err
    assert invoke_ok("consume", twenty, "--no-follow", "--rate", kafka=kafka).err.startswith(
        "read 20 records"
    )


def test_start_before_the_log_start_is_refused(kafka: EmbeddedBroker) -> None:
    topic = numbered(kafka, 10)
    librdkafka.delete_before(kafka, topic, 6)
    assert invoke_ok("consume", topic, "--no-follow", kafka=kafka).lines == ["6", "7", "8", "9"]
    result = invoke("consume", topic, "--from", "5", bootstrap=kafka.bootstrap)
    assert result.code == 1
    assert result.err == "dray: offset 5 is outside partition 0, which starts at 6 and ends before 10\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["c-missing"],
            "topic 'c-missing': there is no such topic or partition (UNKNOWN_TOPIC_OR_PARTITION)",
        ),
        (["{topic}", "--partition=9"], "topic '{topic}' has no partition 9 (it has 0)"),
        (["{topic}", "--from=21"], "offset 21 is outside partition 0, which starts at 0 and ends before 20"),
    ],
)
def test_unknown_topic_partition_or_offset_is_reported_in_one_line(
    kafka: EmbeddedBroker, twenty: str, options: list[str], message: str
) -> None:
    arguments = [option.format(topic=twenty) for option in options]
    result = invoke("consume", *arguments, bootstrap=kafka.bootstrap)
    assert result.code == 1
    assert result.err == f"dray: {message.format(topic=twenty)}\n"
    assert result.out == b""


def test_consume_creates_no_topic(kafka: EmbeddedBroker) -> None:
    assert invoke("consume", "c-not-made", bootstrap=kafka.bootstrap).code == 1
    assert "c-not-made" not in invoke_ok("topics", "list", kafka=kafka).out.decode()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--from", "yesterday"], "expected earliest, latest, OFFSET, -N for the last N"),
        (["--format", "%q"], "'%q' is not a placeholder; use %p, %o"),
        (["--format", r"\q"], r"\q is not an escape"),
        (["--json", "--keys"], "--json prints everything"),
        (["--format", "%v", "--keys"], "--format decides what is printed"),
        (["--max", "0"], "--max"),
    ],
)
def test_invalid_usage_exits_with_2(options: list[str], message: str) -> None:
    result = invoke("consume", "t", *options)
    assert result.code == 2
    assert message in result.err
