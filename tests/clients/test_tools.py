"""Apache Kafka's own tools on the broker under test: the same output as on Kafka.

Tools that manage or use groups are in `test_group_tools`.
"""

import json
import re
from pathlib import Path

import pytest

from tests.clients.conftest import Programs
from tests.clients.protocol import Record
from tests.clients.records import hour_ago_ms
from tests.clients.target import needs
from tests.oracle import tools

pytestmark = needs("java")


@pytest.fixture
def ten(programs: Programs, topic: str) -> str:
    """Create a topic of one partition with ten records, a second apart."""
    first_ms = hour_ago_ms()
    records = [Record(value=b"ten", timestamp=first_ms + number * 1000) for number in range(10)]
    programs["librdkafka"].create_topic(topic)
    programs["librdkafka"].produce(topic, records)
    return topic


def test_topics_are_created_altered_described_and_deleted(bootstrap: str, topic: str) -> None:
    created = tools.topics(
        bootstrap, "--create", "--topic", topic, "--partitions", "2", "--config", "retention.ms=86400000"
    )
    assert created.lines == [f"Created topic {topic}."]
    assert tools.topics(bootstrap, "--alter", "--topic", topic, "--partitions", "3").lines == []

    head, *partitions = tools.topics(bootstrap, "--describe", "--topic", topic).lines
    assert re.match(rf"Topic: {topic}\tTopicId: [\w-]{{22}}\tPartitionCount: 3\t", head)
    assert "retention.ms=86400000" in head
    assert [re.findall(r"Partition: (\d+)\tLeader: \d+", line) for line in partitions] == [
        ["0"],
        ["1"],
        ["2"],
    ]

    assert topic in tools.topics(bootstrap, "--list").lines
    assert tools.topics(bootstrap, "--delete", "--topic", topic).lines == []
    gone = tools.topics(bootstrap, "--describe", "--topic", topic)
    assert gone.code == 1
    assert "does not exist" in gone.stdout


def test_topic_that_exists_is_not_created_again(bootstrap: str, ten: str) -> None:
    again = tools.topics(bootstrap, "--create", "--topic", ten)
    assert again.code == 1
    assert f"Topic '{ten}' already exists" in again.stdout


def test_configs_are_set_described_and_unset(bootstrap: str, ten: str) -> None:
    of_topic = ("--entity-type", "topics", "--entity-name", ten)
    done = [f"Completed updating config for topic {ten}."]
    assert (
        tools.configs(bootstrap, "--alter", *of_topic, "--add-config", "max.message.bytes=2000000").lines
        == done
    )
    described = tools.configs(bootstrap, "--describe", *of_topic).lines
    assert any(line.startswith("  max.message.bytes=2000000 sensitive=false synonyms=") for line in described)
    assert (
        tools.configs(bootstrap, "--alter", *of_topic, "--delete-config", "max.message.bytes").lines == done
    )
    described = tools.configs(bootstrap, "--describe", *of_topic).lines
    assert not any("max.message.bytes" in line for line in described)


def test_unknown_config_is_rejected(bootstrap: str, ten: str) -> None:
    refused = tools.configs(
        bootstrap, "--alter", "--entity-type", "topics", "--entity-name", ten, "--add-config", "no.such=1"
    )
    assert refused.code == 1
    assert "no.such" in refused.stdout + refused.stderr


USER, CLIENT = ("--entity-type", "users"), ("--entity-type", "clients")
ALICE = (*USER, "--entity-name", "alice")


@pytest.mark.parametrize(
    ("entity", "quotas", "changed", "described"),
    [
        (
            ALICE,
            "consumer_byte_rate=2048",
            "user alice.",
            "user-principal 'alice' are consumer_byte_rate=2048.0",
        ),
        (
            (*ALICE, *CLIENT, "--entity-name", "app"),
            "request_percentage=12.5",
            "user alice.",
            "user-principal 'alice', client-id 'app' are request_percentage=12.5",
        ),
        (
            (*USER, "--entity-default"),
            "controller_mutation_rate=1000000",
            "default config for users in the cluster.",
            "the default user-principal are controller_mutation_rate=1000000.0",
        ),
        (
            (*CLIENT, "--entity-default"),
            "producer_byte_rate=1000000000000",
            "default config for clients in the cluster.",
            "the default client-id are producer_byte_rate=1.0E12",
        ),
        (
            ("--entity-type", "ips", "--entity-name", "192.0.2.1"),
            "connection_creation_rate=9",
            "ip 192.0.2.1.",
            "ip '192.0.2.1' are connection_creation_rate=9.0",
        ),
    ],
)
def test_quotas_are_set_described_and_removed(
    bootstrap: str, entity: tuple[str, ...], quotas: str, changed: str, described: str
) -> None:
    changed = f"Completed updating {'' if changed.startswith('default') else 'config for '}{changed}"
    assert tools.configs(bootstrap, "--alter", *entity, "--add-config", quotas).lines == [changed]
    # For a user alone the tool then asks for SCRAM credentials, which not every broker serves.
    assert f"Quota configs for {described}" in tools.configs(bootstrap, "--describe", *entity).stdout
    key = quotas.partition("=")[0]
    assert tools.configs(bootstrap, "--alter", *entity, "--delete-config", key).lines == [changed]
    assert "Quota configs" not in tools.configs(bootstrap, "--describe", *entity).stdout


def test_invalid_quota_is_rejected(bootstrap: str) -> None:
    refused = tools.configs(bootstrap, "--alter", *ALICE, "--add-config", "consumer_byte_rate=-1")
    assert refused.code == 1
    assert "Quota consumer_byte_rate must be greater than 0" in refused.stdout + refused.stderr


def test_lines_typed_into_the_console_are_read_from_the_console(
    bootstrap: str, programs: Programs, topic: str
) -> None:
    programs["librdkafka"].create_topic(topic)
    keyed = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    produced = tools.console_producer(bootstrap, "--topic", topic, *keyed, stdin="a:one\nb:two\na:three\n")
    assert produced.lines == []
    shown = ("print.key=true", "print.offset=true", "print.partition=true")
    consumed = tools.console_consumer(
        bootstrap,
        *("--topic", topic, "--partition", "0", "--offset", "earliest", "--max-messages", "3"),
        *(argument for name in shown for argument in ("--formatter-property", name)),
    )
    assert consumed.lines == [
        "Partition:0\tOffset:0\ta\tone",
        "Partition:0\tOffset:1\tb\ttwo",
        "Partition:0\tOffset:2\ta\tthree",
    ]


@pytest.mark.parametrize(
    ("asked", "offset"), [("earliest", 0), ("latest", 10), ("max-timestamp", 9), ("0", 0)]
)
def test_offsets_are_printed(bootstrap: str, ten: str, asked: str, offset: int) -> None:
    assert tools.get_offsets(bootstrap, "--topic", ten, "--time", asked).lines == [f"{ten}:0:{offset}"]


def test_records_are_deleted_up_to_an_offset(bootstrap: str, ten: str, tmp_path: Path) -> None:
    deleted = tools.delete_records(bootstrap, {(ten, 0): 4}, tmp_path)
    assert deleted.lines[-1] == f"partition: {ten}-0\tlow_watermark: 4"
    assert tools.get_offsets(bootstrap, "--topic", ten, "--time", "earliest").lines == [f"{ten}:0:4"]
    assert tools.get_offsets(bootstrap, "--topic", ten, "--time", "latest").lines == [f"{ten}:0:10"]


def test_log_directories_are_described(bootstrap: str, ten: str) -> None:
    *_, answer = tools.log_dirs(bootstrap, "--describe", "--topic-list", ten).lines
    directories = [found for broker in json.loads(answer)["brokers"] for found in broker["logDirs"]]
    assert [found["error"] for found in directories] == [None] * len(directories)
    (partition,) = [partition for found in directories for partition in found["partitions"]]
    assert partition["partition"] == f"{ten}-0"
    assert partition["size"] > 10 * len("ten")


def test_producer_perf_completes(bootstrap: str, ten: str) -> None:
    measured = tools.producer_perf(
        bootstrap, "--topic", ten, "--num-records", "2000", "--record-size", "100", "--throughput", "-1"
    )
    assert measured.lines[-1].startswith("2000 records sent, ")
    assert tools.get_offsets(bootstrap, "--topic", ten).lines == [f"{ten}:0:2010"]


def test_versions_of_the_apis_are_listed(bootstrap: str) -> None:
    head, *versions = tools.broker_api_versions(bootstrap).lines
    assert head.startswith(f"{bootstrap} (id: ")
    found = dict(re.findall(r"\t(\w+)\(\d+\): (\d+ to \d+)", "\n".join(versions)))
    assert found["Produce"].startswith("0 to ")  # advertised by Kafka though not supported
    assert found["ApiVersions"] == "0 to 4"
    assert "UNKNOWN" not in found


def test_verifiable_producer_completes(bootstrap: str, ten: str) -> None:
    produced = tools.verifiable_producer(bootstrap, "--topic", ten, "--max-messages", "5")
    events = [json.loads(line) for line in produced.lines]
    sent = [event for event in events if event["name"] == "producer_send_success"]
    assert [(event["value"], event["offset"]) for event in sent] == [(str(n), 10 + n) for n in range(5)]
    (summary,) = [event for event in events if event["name"] == "tool_data"]
    assert (summary["sent"], summary["acked"]) == (5, 5)


def test_idempotent_producer_is_described(bootstrap: str, programs: Programs, ten: str) -> None:
    programs["librdkafka"].produce(ten, [Record(value=b"once")] * 3, idempotent=True)
    described = tools.transactions(bootstrap, "describe-producers", "--topic", ten, "--partition", "0")
    names, figures = (re.split(r"\s*\t", line.strip()) for line in described.lines)
    producer = dict(zip(names, figures, strict=True))
    assert producer["ProducerEpoch"] == "0"
    assert producer["LastSequence"] == "2"
