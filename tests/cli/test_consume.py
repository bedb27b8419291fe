"""`dray consume`, of what librdkafka wrote."""

import json

import pytest

from dray.testing.broker import EmbeddedBroker
from tests.cli import librdkafka
from tests.cli.calling import call, good, new_topic
from tests.cli.librdkafka import Seen

BORN_MS = 1_700_000_000_000


def numbered(kafka: EmbeddedBroker, count: int, partitions: int = 1) -> str:
    """Make a topic with records 0, 1, 2…, a second apart, that go round its partitions."""
    topic = new_topic(kafka, partitions=partitions)
    librdkafka.write(
        kafka,
        topic,
        [
            Seen(None, b"%d" % number, (), number % partitions, BORN_MS + number * 1000)
            for number in range(count)
        ],
    )
    return topic


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec(kafka: EmbeddedBroker, codec: str) -> None:
    topic = new_topic(kafka)
    values = [b"%d " % number * 40 for number in range(300)]
    librdkafka.write(kafka, topic, [Seen(None, value) for value in values], codec)
    shown = good("consume", topic, "--no-follow", kafka=kafka)
    assert shown.out == b"".join(value + b"\n" for value in values)
    assert shown.err == ""


def test_json_shows_everything(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka, partitions=2)
    records = [
        Seen(b"k", "vé".encode(), (("h", b"1"), ("h", None)), 1, BORN_MS),
        Seen(b"\xff", b"\xfe\x00", (("b", b"\xfd"),), 1, BORN_MS + 1),
        Seen(None, None, (), 1, BORN_MS + 2),
    ]
    librdkafka.write(kafka, topic, records)
    shown = good("consume", topic, "--no-follow", "--json", kafka=kafka)
    assert [json.loads(line) for line in shown.lines] == [
        {
            "partition": 1,
            "offset": 0,
            "timestamp": BORN_MS,
            "key": "k",
            "value": "vé",
            "headers": [["h", "1"], ["h", None]],
        },
        {
            "partition": 1,
            "offset": 1,
            "timestamp": BORN_MS + 1,
            "key_base64": "/w==",
            "value_base64": "/gA=",
            "headers": [["b", {"base64": "/Q=="}]],
        },
        {"partition": 1, "offset": 2, "timestamp": BORN_MS + 2, "key": None, "value": None, "headers": []},
    ]


def test_keys_headers_nulls_and_patterns(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka)
    headers = (("a", b"1"), ("b", None))
    librdkafka.write(kafka, topic, [Seen(b"k", None, headers, 0, BORN_MS)])

    def shown(*options: str) -> bytes:
        return good("consume", topic, "--no-follow", *options, kafka=kafka).out

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
        (f"@{BORN_MS + 12_000}", 12),
        (f"@{BORN_MS + 12_001}", 13),
        (f"@{BORN_MS + 99_000}", 20),
        ("2023-11-14T22:13:30Z", 10),
        ("2023-11-14T23:13:30+01:00", 10),
        ("1969-01-01", 0),
    ],
)
def test_where_to_begin(kafka: EmbeddedBroker, twenty: str, start: str, first: int) -> None:
    shown = good("consume", twenty, "--no-follow", "--from", start, kafka=kafka)
    assert [int(line) for line in shown.lines] == list(range(first, 20))


@pytest.fixture(scope="module")
def twenty(kafka: EmbeddedBroker) -> str:
    return numbered(kafka, 20)


def test_the_last_n_are_those_of_each_partition(kafka: EmbeddedBroker) -> None:
    topic = numbered(kafka, 30, partitions=3)
    shown = good("consume", topic, "--no-follow", "--from", "-2", kafka=kafka)
    assert sorted(int(line) for line in shown.lines) == list(range(24, 30))


def test_several_partitions_are_each_in_order(kafka: EmbeddedBroker) -> None:
    topic = numbered(kafka, 100, partitions=4)
    shown = good("consume", topic, "--no-follow", "--format", r"%p %o %v\n", kafka=kafka)
    rows = [tuple(map(int, line.split())) for line in shown.lines]
    assert len(rows) == 100
    for partition in range(4):
        assert [row[1:] for row in rows if row[0] == partition] == [
            (offset, offset * 4 + partition) for offset in range(25)
        ]


def test_one_partition(kafka: EmbeddedBroker) -> None:
    topic = numbered(kafka, 9, partitions=3)
    shown = good("consume", topic, "--no-follow", "--partition", "1", kafka=kafka)
    assert shown.lines == ["1", "4", "7"]


def test_max_ends_it_also_when_following(kafka: EmbeddedBroker, twenty: str) -> None:
    assert good("consume", twenty, "--max", "3", kafka=kafka).lines == ["0", "1", "2"]
    assert len(good("consume", twenty, "--max", "99", "--no-follow", kafka=kafka).lines) == 20


def test_stats_go_to_standard_error(kafka: EmbeddedBroker, twenty: str) -> None:
    shown = good("consume", twenty, "--no-follow", "--stats", kafka=kafka)
    assert len(shown.lines) == 20
    assert "read 20 records, 30 bytes in " in shown.err
    assert good("consume", twenty, "--no-follow", "--rate", kafka=kafka).err.startswith("read 20 records")


def test_records_deleted_by_retention_are_not_asked_for(kafka: EmbeddedBroker) -> None:
    topic = numbered(kafka, 10)
    librdkafka.delete_before(kafka, topic, 6)
    assert good("consume", topic, "--no-follow", kafka=kafka).lines == ["6", "7", "8", "9"]
    called = call("consume", topic, "--from", "5", bootstrap=kafka.bootstrap)
    assert called.code == 1
    assert called.err == "dray: offset 5 is outside partition 0, which begins at 6 and ends before 10\n"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ["c-missing"],
            "topic 'c-missing': there is no such topic or partition (UNKNOWN_TOPIC_OR_PARTITION)",
        ),
        (["{topic}", "--partition=9"], "there is no partition 9; topic '{topic}' has 1, counted from 0"),
        (["{topic}", "--from=21"], "offset 21 is outside partition 0, which begins at 0 and ends before 20"),
    ],
)
def test_what_cannot_be_read(kafka: EmbeddedBroker, twenty: str, options: list[str], told: str) -> None:
    arguments = [option.format(topic=twenty) for option in options]
    called = call("consume", *arguments, bootstrap=kafka.bootstrap)
    assert called.code == 1
    assert called.err == f"dray: {told.format(topic=twenty)}\n"
    assert called.out == b""


def test_consuming_makes_no_topic(kafka: EmbeddedBroker) -> None:
    assert call("consume", "c-not-made", bootstrap=kafka.bootstrap).code == 1
    assert "c-not-made" not in good("topics", "list", kafka=kafka).out.decode()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--from", "yesterday"], "expected earliest, latest, OFFSET, -N for the last N"),
        (["--format", "%q"], "'%q' is no place; there are %p, %o"),
        (["--format", r"\q"], r"\q is no escape"),
        (["--json", "--keys"], "--json shows everything"),
        (["--format", "%v", "--keys"], "--format says what is shown"),
        (["--max", "0"], "--max"),
    ],
)
def test_a_wrong_call_exits_with_2(options: list[str], told: str) -> None:
    called = call("consume", "t", *options)
    assert called.code == 2
    assert told in called.err
