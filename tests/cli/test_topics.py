"""`dray topics` against a broker."""

import json
import os
import pty
import subprocess
import sys

import pytest

from dray.testing import broker
from dray.testing.broker import EmbeddedBroker
from tests.cli.calling import call, good, new_topic


def test_a_topic_is_made_listed_and_deleted(kafka: EmbeddedBroker) -> None:
    made = good("topics", "create", "t-life", "--partitions", "3", kafka=kafka)
    assert made.out == b"made topic t-life with 3 partitions\n"
    listed = json.loads(good("topics", "list", "--json", kafka=kafka).out)
    found = next(topic for topic in listed if topic["name"] == "t-life")
    assert found["partitions"] == 3
    assert len(found["id"]) == 22
    line = next(line for line in good("topics", "list", kafka=kafka).lines if "t-life" in line)
    assert line.split() == ["t-life", "3", found["id"]]
    deleted = good("topics", "delete", "t-life", "--yes", kafka=kafka)
    assert deleted.out == b"deleted topic t-life\n"
    assert "t-life" not in good("topics", "list", kafka=kafka).out.decode()


def test_the_brokers_default_decides_when_no_number_is_given(kafka: EmbeddedBroker) -> None:
    made = good("topics", "create", "t-default", kafka=kafka)
    assert made.out == b"made topic t-default with 1 partition\n"


def test_a_topic_that_is_there(kafka: EmbeddedBroker) -> None:
    name = new_topic(kafka)
    again = call("topics", "create", name, bootstrap=kafka.bootstrap)
    assert again.code == 1
    assert again.err == f"dray: topic '{name}': Topic '{name}' already exists (TOPIC_ALREADY_EXISTS)\n"
    assert "is there already" in good("topics", "create", name, "--if-not-exists", kafka=kafka).out.decode()


def test_describe_tells_configs_leaders_and_offsets(kafka: EmbeddedBroker) -> None:
    name = new_topic(kafka, partitions=2, retention_ms="7777777")
    good("produce", name, "--partition", "1", stdin=b"a\nb\n", kafka=kafka)
    (described,) = json.loads(good("topics", "describe", name, "--json", kafka=kafka).out)
    assert described["configs"] == {"retention.ms": "7777777"}
    leader = described["partitions"][0]["leader"]
    assert described["partitions"] == [
        {"partition": 0, "leader": leader, "start": 0, "end": 0},
        {"partition": 1, "leader": leader, "start": 0, "end": 2},
    ]
    text = good("topics", "describe", name, kafka=kafka).lines
    assert text[0] == f"topic {name}, id {described['id']}"
    assert text[1] == "  retention.ms=7777777"
    assert text[-1].split() == ["1", str(leader), "0", "2", "2"]


def test_describe_without_names_tells_all(kafka: EmbeddedBroker) -> None:
    names = {new_topic(kafka), new_topic(kafka)}
    described = json.loads(good("topics", "describe", "--json", kafka=kafka).out)
    assert names <= {topic["name"] for topic in described}


def test_alter_grows_and_configures(kafka: EmbeddedBroker) -> None:
    name = new_topic(kafka, retention_ms="1000", compression_type="zstd")
    good(
        "topics",
        "alter",
        name,
        "--partitions=4",
        "--config=retention.ms=2000",
        "--delete-config=compression.type",
        kafka=kafka,
    )
    (described,) = json.loads(good("topics", "describe", name, "--json", kafka=kafka).out)
    assert described["configs"] == {"retention.ms": "2000"}
    assert len(described["partitions"]) == 4


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["create", "no/slash"], "INVALID_TOPIC_EXCEPTION"),
        (["create", "t-wrong", "--config", "retention.ms=soon"], "INVALID_CONFIG"),
        (["describe", "t-missing"], "topic 't-missing': there is no such topic or partition"),
        (["delete", "t-missing", "--yes"], "UNKNOWN_TOPIC_OR_PARTITION"),
        (["alter", "t-missing", "--partitions", "2"], "UNKNOWN_TOPIC_OR_PARTITION"),
    ],
)
def test_what_the_broker_refuses_is_one_line(kafka: EmbeddedBroker, arguments: list[str], told: str) -> None:
    called = call("topics", *arguments, bootstrap=kafka.bootstrap)
    assert called.code == 1
    assert told in called.err
    assert called.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["create", "x", "--config", "novalue"], "expected KEY=VALUE"),
        (["alter", "x"], "nothing to alter"),
        (["delete", "x"], "deleting topics needs --yes when nobody can be asked"),
        (["list", "--bootstrap", "nowhere"], "expected HOST:PORT"),
        (["list", "--bootstrap", "nowhere:0"], "expected a port"),
        (["list", "--timeout", "0"], "--timeout"),
    ],
)
def test_a_wrong_call_exits_with_2(arguments: list[str], told: str) -> None:
    called = call("topics", *arguments)
    assert called.code == 2
    assert told in called.err


def test_an_unreachable_broker_is_one_line() -> None:
    called = call("topics", "list", bootstrap="127.0.0.1:1")
    assert called.code == 1
    assert called.err == (
        "dray: cannot reach a broker at 127.0.0.1:1: is `dray up` running? (Connection refused)\n"
    )


def test_every_address_is_tried(kafka: EmbeddedBroker) -> None:
    name = new_topic(kafka)
    listed = call("topics", "list", "--bootstrap", f"127.0.0.1:1,{kafka.bootstrap}")
    assert listed.code == 0
    assert name in listed.out.decode()


def test_something_that_is_not_kafka(kafka: EmbeddedBroker) -> None:
    called = call("topics", "list", bootstrap=kafka.http)
    assert called.code == 1
    assert kafka.http in called.err
    assert called.err.count("\n") == 1


@pytest.mark.parametrize(("answer", "code", "left"), [("n\n", 1, True), ("y\n", 0, False)])
def test_deleting_asks_on_a_terminal(kafka: EmbeddedBroker, answer: str, code: int, left: bool) -> None:
    name = new_topic(kafka)
    ours, theirs = pty.openpty()
    try:
        os.write(ours, answer.encode())
        ended = subprocess.run(
            [sys.executable, "-m", "dray", "topics", "delete", name],
            check=False,
            stdin=theirs,
            capture_output=True,
            timeout=60,
            env={**os.environ, "DRAY_BOOTSTRAP": kafka.bootstrap},
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert ended.returncode == code
    assert f"Delete {name} and all records in it?" in ended.stderr.decode()
    assert (name in good("topics", "list", kafka=kafka).out.decode()) == left


HELPED = ["topics", "produce", "consume", "wal inspect", "index show"]
HELPED += [f"topics {name}" for name in ("create", "list", "describe", "alter", "delete")]


@pytest.mark.parametrize("command", HELPED)
def test_help_shows_an_example_that_can_be_typed(command: str) -> None:
    called = call(*command.split(), "--help")
    assert called.code == 0
    examples = [line for line in called.lines if line.startswith("    ") and f"dray {command} " in line]
    assert examples
    assert "\\b" not in called.out.decode()


def test_a_broker_without_topics_lists_nothing() -> None:
    with broker() as kafka:
        assert good("topics", "list", kafka=kafka).out == b""
        assert good("topics", "describe", kafka=kafka).out == b""
        assert json.loads(good("topics", "list", "--json", kafka=kafka).out) == []
