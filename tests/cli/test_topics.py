"""`dray topics` with a broker."""

import json
import os
import pty
import subprocess
import sys

import pytest

from dray.testing import broker
from dray.testing.broker import EmbeddedBroker
from tests.cli.invoking import invoke, invoke_ok, new_topic


def test_topic_is_created_listed_and_deleted(kafka: EmbeddedBroker) -> None:
    made = invoke_ok("topics", "create", "t-life", "--partitions", "3", kafka=kafka)
    assert made.out == b"created topic t-life with 3 partitions\n"
    listed = json.loads(invoke_ok("topics", "list", "--json", kafka=kafka).out)
    found = next(topic for topic in listed if topic["name"] == "t-life")
    assert found["partitions"] == 3
    assert len(found["id"]) == 22
    line = next(line for line in invoke_ok("topics", "list", kafka=kafka).lines if "t-life" in line)
    assert line.split() == ["t-life", "3", found["id"]]
    deleted = invoke_ok("topics", "delete", "t-life", "--yes", kafka=kafka)
    assert deleted.out == b"deleted topic t-life\n"
    assert "t-life" not in invoke_ok("topics", "list", kafka=kafka).out.decode()


def test_create_without_partitions_uses_the_broker_default(kafka: EmbeddedBroker) -> None:
    made = invoke_ok("topics", "create", "t-default", kafka=kafka)
    assert made.out == b"created topic t-default with 1 partition\n"


def test_create_of_existing_topic_is_refused(kafka: EmbeddedBroker) -> None:
    name = new_topic(kafka)
    again = invoke("topics", "create", name, bootstrap=kafka.bootstrap)
    assert again.code == 1
    assert again.err == f"dray: topic '{name}': Topic '{name}' already exists (TOPIC_ALREADY_EXISTS)\n"
    assert (
        "already exists" in invoke_ok("topics", "create", name, "--if-not-exists", kafka=kafka).out.decode()
    )


def test_describe_shows_configs_leaders_and_offsets(kafka: EmbeddedBroker) -> None:
    name = new_topic(kafka, partitions=2, retention_ms="7777777")
    invoke_ok("produce", name, "--partition", "1", stdin=b"a\nb\n", kafka=kafka)
    (described,) = json.loads(invoke_ok("topics", "describe", name, "--json", kafka=kafka).out)
    assert described["configs"] == {"retention.ms": "7777777"}
    leader = described["partitions"][0]["leader"]
    assert described["partitions"] == [
        {"partition": 0, "leader": leader, "start": 0, "end": 0},
        {"partition": 1, "leader": leader, "start": 0, "end": 2},
    ]
    text = invoke_ok("topics", "describe", name, kafka=kafka).lines
    assert text[0] == f"topic {name}, id {described['id']}"
    assert text[1] == "  retention.ms=7777777"
    assert text[-1].split() == ["1", str(leader), "0", "2", "2"]


def test_describe_without_names_describes_all(kafka: EmbeddedBroker) -> None:
    names = {new_topic(kafka), new_topic(kafka)}
    described = json.loads(invoke_ok("topics", "describe", "--json", kafka=kafka).out)
    assert names <= {topic["name"] for topic in described}


def test_alter_adds_partitions_and_changes_configs(kafka: EmbeddedBroker) -> None:
    name = new_topic(kafka, retention_ms="1000", compression_type="zstd")
    invoke_ok(
        "topics",
        "alter",
        name,
        "--partitions=4",
        "--config=retention.ms=2000",
        "--delete-config=compression.type",
        kafka=kafka,
    )
    (described,) = json.loads(invoke_ok("topics", "describe", name, "--json", kafka=kafka).out)
    assert described["configs"] == {"retention.ms": "2000"}
    assert len(described["partitions"]) == 4


def test_deleting_an_unknown_config_is_refused_with_the_known_ones(kafka: EmbeddedBroker) -> None:
    name = new_topic(kafka, retention_ms="1000")
    arguments = ["--delete-config=retention.ms", "--delete-config=foo", "--delete-config=bar"]
    result = invoke("topics", "alter", name, *arguments, bootstrap=kafka.bootstrap)
    assert result.code == 1
    assert result.err.startswith(
        f"dray: topic '{name}': there is no config 'foo', 'bar'; known are cleanup.pol"
    )
    assert "retention.ms" in result.err
    assert result.err.count("\n") == 1
    (described,) = json.loads(invoke_ok("topics", "describe", name, "--json", kafka=kafka).out)
    assert described["configs"] == {"retention.ms": "1000"}, "nothing was changed"


def test_topic_that_cannot_be_deleted_does_not_stop_the_others(kafka: EmbeddedBroker) -> None:
    name = new_topic(kafka)
    result = invoke("topics", "delete", "t-absent", name, "t-none", "--yes", bootstrap=kafka.bootstrap)
    assert result.code == 1
    assert result.lines == [f"deleted topic {name}"]
    assert [line.split(": ")[1] for line in result.err.splitlines()] == ["topic 't-absent'", "topic 't-none'"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["create", "no/slash"], "INVALID_TOPIC_EXCEPTION"),
        (["create", "t-wrong", "--config", "retention.ms=soon"], "INVALID_CONFIG"),
        (["describe", "t-missing"], "topic 't-missing': there is no such topic or partition"),
        (["delete", "t-missing", "--yes"], "UNKNOWN_TOPIC_OR_PARTITION"),
        (["alter", "t-missing", "--partitions", "2"], "UNKNOWN_TOPIC_OR_PARTITION"),
    ],
)
def test_refusal_is_reported_in_one_line(kafka: EmbeddedBroker, arguments: list[str], message: str) -> None:
    result = invoke("topics", *arguments, bootstrap=kafka.bootstrap)
    assert result.code == 1
    assert message in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["create", "x", "--config", "novalue"], "expected KEY=VALUE"),
        (["create", "x", "--partitions", "10000000"], "10000000 is not in the range 1<=x<=100000"),
        (["alter", "x", "--partitions", "10000000"], "10000000 is not in the range 1<=x<=100000"),
        (["alter", "x"], "nothing to alter"),
        (["delete", "x"], "deleting topics needs --yes when standard input is not a terminal"),
        (["list", "--bootstrap", "nowhere"], "expected HOST:PORT"),
        (["list", "--bootstrap", "nowhere:0"], "expected a port"),
        (["list", "--timeout", "0"], "--timeout"),
    ],
)
def test_invalid_usage_exits_with_2(arguments: list[str], message: str) -> None:
    result = invoke("topics", *arguments)
    assert result.code == 2
    assert message in result.err
    assert result.err.count("\n") == 1


def test_unreachable_broker_is_reported_in_one_line() -> None:
    result = invoke("topics", "list", bootstrap="127.0.0.1:1")
    assert result.code == 1
    assert result.err == (
        "dray: cannot reach a broker at 127.0.0.1:1: is `dray up` running? (Connection refused)\n"
    )


def test_every_bootstrap_address_is_tried(kafka: EmbeddedBroker) -> None:
    name = new_topic(kafka)
    listed = invoke("topics", "list", "--bootstrap", f"127.0.0.1:1,{kafka.bootstrap}")
    assert listed.code == 0
    assert name in listed.out.decode()


def test_bootstrap_that_is_not_kafka_is_reported_in_one_line(kafka: EmbeddedBroker) -> None:
    result = invoke("topics", "list", bootstrap=kafka.http)
    assert result.code == 1
    assert kafka.http in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(("answer", "code", "left"), [("n\n", 1, True), ("y\n", 0, False)])
def test_delete_on_a_terminal_asks_for_confirmation(
    kafka: EmbeddedBroker, answer: str, code: int, left: bool
) -> None:
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
    assert f"Delete {name} and all records?" in ended.stderr.decode()
    assert (name in invoke_ok("topics", "list", kafka=kafka).out.decode()) == left


HELPED = ["topics", "produce", "consume", "wal inspect", "index show"]
HELPED += [f"topics {name}" for name in ("create", "list", "describe", "alter", "delete")]


@pytest.mark.parametrize("command", HELPED)
def test_help_has_an_example(command: str) -> None:
    result = invoke(*command.split(), "--help")
    assert result.code == 0
    examples = [line for line in result.lines if line.startswith("    ") and f"dray {command} " in line]
    assert examples
    assert "\\b" not in result.out.decode()


def test_broker_without_topics_lists_nothing() -> None:
    with broker() as kafka:
        assert invoke_ok("topics", "list", kafka=kafka).out == b""
        assert invoke_ok("topics", "describe", kafka=kafka).out == b""
        assert json.loads(invoke_ok("topics", "list", "--json", kafka=kafka).out) == []
