"""`dray produce`, with records read back by librdkafka."""

import json
from itertools import pairwise

import pytest

from dray.cli.terminal import input as terminal_input
from dray.testing import broker
from dray.testing.broker import EmbeddedBroker
from tests.cli import librdkafka
from tests.cli.invoking import invoke, invoke_ok, new_topic
from tests.cli.librdkafka import Record


def bare(seen: list[Record]) -> list[tuple[bytes | None, bytes | None]]:
    return [(one.key, one.value) for one in seen]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_round_trip_with_every_codec(kafka: EmbeddedBroker, codec: str) -> None:
    topic = new_topic(kafka)
    values = [b"%d " % number * 30 for number in range(500)]
    stdin = b"".join(value + b"\n" for value in values)
    sent = invoke_ok("produce", topic, "--codec", codec, "--batch-bytes=9000", stdin=stdin, kafka=kafka)
    assert [one.value for one in librdkafka.read(kafka, topic, 500)] == values
    assert sent.out == b""
    assert sent.err.startswith(f"sent 500 records, {sum(map(len, values)):,} bytes in ")


def test_key_separator_headers_and_nulls(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka)
    options = ["--key-separator", r"\t", "--null-value", "NULL", "--headers", "a=1", "--header", "b=x=y"]
    stdin = b"k1\tv\tw\nNULL\tv2\nk3\tNULL\n\t\n"
    invoke_ok("produce", topic, *options, stdin=stdin, kafka=kafka)
    seen = librdkafka.read(kafka, topic, 4)
    assert bare(seen) == [(b"k1", b"v\tw"), (None, b"v2"), (b"k3", None), (b"", b"")]
    assert {one.headers for one in seen} == {(("a", b"1"), ("b", b"x=y"))}


def test_lines_are_sent_verbatim(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka)
    invoke_ok("produce", topic, stdin=b"\xff\x00\r\n\nlast without end", kafka=kafka)
    assert bare(librdkafka.read(kafka, topic, 3)) == [
        (None, b"\xff\x00\r"),
        (None, b""),
        (None, b"last without end"),
    ]


def test_json_lines_become_records(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka, partitions=3)
    lines = [
        b'{"key": "k", "value": "v\\u00e9", "headers": {"h": "1", "n": null}, "timestamp": 1700000000123}',
        b'{"key_base64": "/wA=", "value_base64": "AP8=", "headers": [["h", {"base64": "/w=="}], ["h", ""]]}',
        b"",
        b'{"key": null, "value": null, "partition": 2}',
        b'{"key": 7, "value": {"a": [1.0, true]}}',
    ]
    stdin = b"\n".join(lines)
    invoke_ok("produce", topic, "--json", "--partition=2", "--headers=all=x", stdin=stdin, kafka=kafka)
    seen = librdkafka.read(kafka, topic, 4, partitions=3)
    assert {one.partition for one in seen} == {2}
    assert bare(seen) == [
        (b"k", "vé".encode()),
        (b"\xff\x00", b"\x00\xff"),
        (None, None),
        (b"7", b'{"a": [1.0, true]}'),
    ]
    assert seen[0].timestamp == 1700000000123
    assert [one.headers for one in seen[:2]] == [
        (("h", b"1"), ("n", None), ("all", b"x")),
        (("h", b"\xff"), ("h", b""), ("all", b"x")),
    ]


KAFKA_HASHES = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}
"""murmur2 of keys as Apache Kafka's own tests expect it, as signed numbers."""


def test_keys_go_to_the_partitions_of_kafkas_producer(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka, partitions=7)
    stdin = b"".join(key + b"=v\n" for key in KAFKA_HASHES)
    invoke_ok("produce", topic, "--key-separator", "=", stdin=stdin, kafka=kafka)
    found = librdkafka.read(kafka, topic, len(KAFKA_HASHES), partitions=7)
    assert {one.key: one.partition for one in found} == {
        key: (hashed & 0x7FFFFFFF) % 7 for key, hashed in KAFKA_HASHES.items()
    }


def test_keyless_records_spread_batch_by_batch(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka, partitions=3)
    stdin = b"".join(b"%03d%s\n" % (number, b"x" * 97) for number in range(90))
    invoke_ok("produce", topic, "--batch-bytes=1500", "--linger-ms=60000", stdin=stdin, kafka=kafka)
    seen = librdkafka.read(kafka, topic, 90, partitions=3)
    for partition in range(3):
        numbers = [int((one.value or b"")[:3]) for one in seen if one.partition == partition]
        assert len(numbers) >= 20
        assert numbers == sorted(numbers)
        assert any(after == before + 1 for before, after in pairwise(numbers))


@pytest.mark.parametrize("options", [["--acks=0"], ["--acks=1"], ["--no-idempotent"], ["--acks=-1"]])
def test_records_arrive_in_order_with_any_acks(kafka: EmbeddedBroker, options: list[str]) -> None:
    topic = new_topic(kafka)
    stdin = b"".join(b"%d\n" % number for number in range(200))
    sent = invoke_ok("produce", topic, *options, "--batch-bytes=600", stdin=stdin, kafka=kafka)
    assert "sent 200 records" in sent.err
    values = [one.value for one in librdkafka.read(kafka, topic, 200)]
    assert values == [b"%d" % number for number in range(200)]


def test_produce_creates_the_topic(kafka: EmbeddedBroker) -> None:
    invoke_ok("produce", "p-made-by-producing", "--quiet", stdin=b"x\n", kafka=kafka)
    assert bare(librdkafka.read(kafka, "p-made-by-producing", 1)) == [(None, b"x")]


def test_produce_without_topic_auto_creation_is_refused() -> None:
    with broker({"kafka.auto_create_topics_enable": "false"}) as kafka:
        result = invoke("produce", "p-none", "--timeout=0.3", stdin=b"x\n", bootstrap=kafka.bootstrap)
    assert result.code == 1
    problem = "there is no topic 'p-none', and the broker does not create topics automatically"
    assert result.err == f"dray: {problem}: dray topics create p-none\n"


def test_quiet_prints_nothing(kafka: EmbeddedBroker) -> None:
    sent = invoke_ok("produce", new_topic(kafka), "--quiet", stdin=b"x\n", kafka=kafka)
    assert (sent.out, sent.err) == (b"", "")


def test_empty_input_sends_no_records(kafka: EmbeddedBroker) -> None:
    sent = invoke_ok("produce", new_topic(kafka), kafka=kafka)
    assert sent.err.startswith("sent 0 records, 0 bytes")


@pytest.mark.parametrize(
    ("options", "line", "message"),
    [
        (["--json"], b'{"value": ', "line 3: "),
        (["--json"], b'{"key": "k"}', 'line 3: neither "value" nor "value_base64" is given'),
        (["--json"], b'{"value": "v", "valu": 1}', "line 3: Object contains unknown field `valu`"),
        (["--json"], b'{"value_base64": "?"}', 'line 3: "value_base64" is not base64'),
        (["--json"], b'{"value": 1, "value_base64": ""}', 'line 3: "value" and "value_base64" cannot both'),
        (["--json"], b'{"value": "v", "timestamp": %d}' % 10**30, 'line 3: "timestamp" is in milliseconds'),
        (["--json"], b'{"value": "v", "timestamp": %d}' % 2**63, 'line 3: "timestamp" is in milliseconds'),
        (["--json"], b'{"value": "v", "timestamp": -2}', 'line 3: "timestamp" is in milliseconds'),
        (["--json"], b'{"value": "v", "partition": 1}', "line 3: topic '"),
    ],
)
def test_invalid_line_is_named_and_earlier_lines_are_sent(
    kafka: EmbeddedBroker, options: list[str], line: bytes, message: str
) -> None:
    topic = new_topic(kafka)
    stdin = b'{"value": "1"}\n{"value": "2"}\n' + line + b'\n{"value": "4"}\n'
    result = invoke("produce", topic, *options, stdin=stdin, bootstrap=kafka.bootstrap)
    assert result.code == 1
    summary, error = result.err.splitlines()
    assert summary.startswith("sent 2 records")
    assert error.startswith(f"dray: {message}")
    assert [one.value for one in librdkafka.read(kafka, topic, 2)] == [b"1", b"2"]


def test_endless_line_is_refused(kafka: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal_input, "LINE_BYTES_MAX", 1 << 20)
    arguments = ["produce", new_topic(kafka), "-q"]
    result = invoke(*arguments, stdin=b"short\n" + b"x" * (3 << 20), bootstrap=kafka.bootstrap)
    assert result.code == 1
    assert result.err == "dray: line 2: it is longer than 1 MiB\n"


def test_line_without_the_key_separator_is_named(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka)
    arguments = ["produce", topic, "--key-separator", ":", "-q"]
    result = invoke(*arguments, stdin=b"a:1\nb\n", bootstrap=kafka.bootstrap)
    assert result.code == 1
    assert result.err == "dray: line 2: it has no key separator ':'\n"


def test_record_larger_than_max_message_bytes_is_named(kafka: EmbeddedBroker) -> None:
    topic = new_topic(kafka, max_message_bytes="2000")
    stdin = b"small\n" + b"x" * 3000 + b"\nsmall\n"
    arguments = ["produce", topic, "--batch-bytes=1000"]
    result = invoke(*arguments, stdin=stdin, bootstrap=kafka.bootstrap)
    assert result.code == 1
    assert "dray: line 2: rejected: " in result.err
    assert "MESSAGE_TOO_LARGE" in result.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--idempotent", "--acks=1"], "--idempotent needs --acks all"),
        (["--json", "--key-separator=:"], "--json lines have their own keys and nulls"),
        (["--key-separator="], "--key-separator is empty"),
        (["--key-separator", r"\q"], r"\q is not an escape"),
        (["--headers", "nothing"], "expected KEY=VALUE"),
        (["--codec", "brotli"], "'brotli' is not one of"),
    ],
)
def test_invalid_usage_exits_with_2(options: list[str], message: str) -> None:
    result = invoke("produce", "t", *options)
    assert result.code == 2
    assert message in result.err


def test_consume_json_output_produces_the_same_records(kafka: EmbeddedBroker) -> None:
    source, copy = new_topic(kafka, partitions=2), new_topic(kafka, partitions=2)
    records = [
        Record(b"k", b"v", (("h", b"1"), ("h", None), ("b", b"\xfe")), 0, 1_700_000_000_000),
        Record(None, None, (), 1, 1_700_000_000_001),
        Record(b"\xff", b"\x00\xff", (), 1, 1_700_000_000_002),
        Record(b"", b"", (("", b""),), 1, 1_700_000_000_003),
    ]
    librdkafka.write(kafka, source, records)
    shown = invoke_ok("consume", source, "--no-follow", "--json", kafka=kafka)
    assert [json.loads(line)["offset"] for line in shown.lines] == [0, 0, 1, 2]
    invoke_ok("produce", copy, "--json", "-q", stdin=shown.out, kafka=kafka)
    copied = librdkafka.read(kafka, copy, 4, partitions=2)
    assert sorted(copied, key=lambda one: one.timestamp or 0) == records
