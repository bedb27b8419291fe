"""AlterConfigs and IncrementalAlterConfigs: changes, and errors with Kafka's codes and messages."""

import pytest

from dray.wire import ErrorCode
from tests.api.builders import Broker, on_broker, with_broker
from tests.api.configs import (
    APPEND,
    BROKER,
    DELETE,
    LOGGER,
    METRICS,
    SUBTRACT,
    TOPIC,
    Op,
    change,
    replace,
)


def configs_of(broker: Broker, name: str = "t") -> dict[str, str]:
    topic = broker.services.topics.find(name)
    assert topic is not None
    return topic.configs


@on_broker
async def test_alter_configs_resets_configs_that_are_not_listed(broker: Broker) -> None:
    await broker.make_topic("t", retention_ms="5", segment_ms="7")
    for version in range(3):
        new = Op("retention.ms", str(version))
        assert await replace(broker, (TOPIC, "t", [new]), version=version) == [(0, None)]
        assert configs_of(broker) == {"retention.ms": str(version)}
    assert await replace(broker, (TOPIC, "t", [])) == [(0, None)]
    assert configs_of(broker) == {}


@on_broker
async def test_incremental_alter_configs_changes_only_listed_configs(broker: Broker) -> None:
    await broker.make_topic("t", retention_ms="5", segment_ms="7")
    for version in range(2):
        ops = [Op("retention.ms", str(version)), Op("flush.ms", None, DELETE), Op("no.such", None, DELETE)]
        assert await change(broker, (TOPIC, "t", ops), version=version) == [(0, None)]
        assert configs_of(broker) == {"retention.ms": str(version), "segment.ms": "7"}
    assert await change(broker, (TOPIC, "t", [Op("retention.ms", None, DELETE)])) == [(0, None)]
    assert configs_of(broker) == {"segment.ms": "7"}


@on_broker
async def test_append_and_subtract_start_from_the_default_of_a_list(broker: Broker) -> None:
    await broker.make_topic("t")
    steps = [
        (Op("cleanup.policy", "compact", APPEND), "delete,compact"),
        (Op("cleanup.policy", "compact,delete", APPEND), "delete,compact"),
        (Op("cleanup.policy", "delete", SUBTRACT), "compact"),
        (Op("cleanup.policy", "delete,compact", SUBTRACT), ""),
        (Op("cleanup.policy", "delete", APPEND), "delete"),
        (Op("leader.replication.throttled.replicas", "0:1,1:1", APPEND), "0:1,1:1"),
        (Op("leader.replication.throttled.replicas", "0:1", SUBTRACT), "1:1"),
        (Op("leader.replication.throttled.replicas", "1:1,1:1,,2:2"), "1:1,1:1,,2:2"),
        (Op("leader.replication.throttled.replicas", "1:1,3:3", APPEND), "1:1,1:1,2:2,3:3"),
        (Op("leader.replication.throttled.replicas", "1:1", SUBTRACT), "1:1,2:2,3:3"),
    ]
    for op, value in steps:
        assert await change(broker, (TOPIC, "t", [op])) == [(0, None)]
        assert configs_of(broker)[op.name] == value


@on_broker
async def test_appending_beyond_the_length_limit_is_refused(broker: Broker) -> None:
    await broker.make_topic("t")
    much, more = (
        Op("leader.replication.throttled.replicas", ",".join(f"{n}:1" for n in numbers), APPEND)
        for numbers in (range(1_000, 5_000), range(5_000, 9_000))
    )
    assert await change(broker, (TOPIC, "t", [much])) == [(0, None)]
    refused = "it exceeds the maximum value size of 32767 bytes."
    ((code, message),) = await change(broker, (TOPIC, "t", [more]))
    assert (code, message) == (40, f"The configuration value cannot be added because {refused}")
    assert configs_of(broker) == {much.name: much.value}


@on_broker
async def test_invalid_change_affects_only_its_resource(broker: Broker) -> None:
    await broker.make_topic("t")
    await broker.make_topic("u")
    bad = (TOPIC, "t", [Op("retention.ms", "9"), Op("segment.ms", "0")])
    good = (TOPIC, "u", [Op("retention.ms", "9")])
    refused = (40, "Invalid value 0 for configuration segment.ms: Value must be at least 1")
    for alter in (replace, change):
        assert await alter(broker, bad, good) == [refused, (0, None)]
        assert (configs_of(broker, "t"), configs_of(broker, "u")) == ({}, {"retention.ms": "9"})


@on_broker
async def test_validate_only_changes_nothing(broker: Broker) -> None:
    await broker.make_topic("t", retention_ms="5")
    fine, bad = [Op("retention.ms", "6")], [Op("retention.ms", "-2")]
    for alter in (replace, change):
        response = await alter(broker, (TOPIC, "t", fine), (TOPIC, "missing", fine), validate_only=True)
        assert response == [(0, None), (3, "The topic 'missing' does not exist.")]
        assert (await alter(broker, (TOPIC, "t", bad), validate_only=True))[0][0] == ErrorCode.INVALID_CONFIG
        assert configs_of(broker) == {"retention.ms": "5"}


@on_broker
async def test_change_is_validated_together_with_existing_configs(broker: Broker) -> None:
    await broker.make_topic("t", min_compaction_lag_ms="100")
    refused = "conflict topic config setting min.compaction.lag.ms (100) > max.compaction.lag.ms (50)"
    op = Op("max.compaction.lag.ms", "50")
    assert await change(broker, (TOPIC, "t", [op])) == [(40, refused)]
    assert await replace(broker, (TOPIC, "t", [op])) == [(0, None)]


SETTINGS_FILE = "Clients cannot change this. A broker's configs and log levels are set in its settings file."
NOT_KEPT = "Clients cannot change this. Dray keeps no configs of client metrics."
NO_TIERS = "Tiered Storage functionality is disabled in the broker."
FINE = [Op("retention.ms", "1")]
BOTH = {
    "unknown topic": (TOPIC, "missing", FINE, 3, "The topic 'missing' does not exist."),
    "unknown topic, bad config": (
        TOPIC,
        "missing",
        [Op("no.such", "1")],
        40,
        "Unknown topic config name: no.such",
    ),
    "no topic": (TOPIC, "", FINE, 42, "Default topic resources are not allowed."),
    "bad name": (TOPIC, "..", FINE, 17, "Topic name is invalid: '..' is not allowed"),
    "twice": (TOPIC, "t", FINE * 2, 42, "Error due to duplicate config keys"),
    "null": (
        TOPIC,
        "t",
        [Op("segment.ms"), Op("retention.ms")],
        42,
        "Null value not supported for : segment.ms, retention.ms",
    ),
    "tiered": (
        TOPIC,
        "t",
        [Op("remote.storage.enable", "true")],
        40,
        f"{NO_TIERS} Topic cannot be configured with remote log storage.",
    ),
    "broker": (BROKER, "1", FINE, 42, SETTINGS_FILE),
    "all brokers": (BROKER, "", FINE, 42, SETTINGS_FILE),
    "other broker": (BROKER, "2", FINE, 42, "Unexpected broker id, expected 1, but received 2"),
    "no broker": (BROKER, "x", FINE, 42, "Node id must be an integer, but it is: x"),
    "metrics": (METRICS, "m", FINE, 42, NOT_KEPT),
    "unknown kind": (3, "t", FINE, 42, "Unknown resource type 3"),
}
STEPWISE = {
    "append to a number": (
        TOPIC,
        "t",
        [Op("retention.ms", "1", APPEND)],
        40,
        "Can't APPEND to key retention.ms because its type is not LIST.",
    ),
    "subtract from nothing": (
        TOPIC,
        "t",
        [Op("no.such", "1", SUBTRACT)],
        40,
        "Can't SUBTRACT to key no.such because its type is not LIST.",
    ),
    "append rubbish": (
        TOPIC,
        "t",
        [Op("cleanup.policy", "burn", APPEND)],
        40,
        "Invalid value burn for configuration cleanup.policy: String must be one of: compact, delete",
    ),
    "unknown operation": (TOPIC, "t", [Op("retention.ms", "1", 9)], 42, "Unknown operations type 9"),
    "logger": (LOGGER, "1", FINE, 42, SETTINGS_FILE),
}


@pytest.mark.parametrize("case", BOTH)
def test_errors_of_both_apis_have_the_code_and_message_of_kafka(case: str) -> None:
    kind, name, ops, code, message = BOTH[case]

    async def body(broker: Broker) -> None:
        await broker.make_topic("t")
        assert await change(broker, (kind, name, ops)) == [(code, message)]
        assert await replace(broker, (kind, name, ops)) == [(code, message)]
        assert configs_of(broker) == {}

    with_broker(body)


@pytest.mark.parametrize("case", STEPWISE)
def test_errors_of_operations_have_the_code_and_message_of_kafka(case: str) -> None:
    kind, name, ops, code, message = STEPWISE[case]

    async def body(broker: Broker) -> None:
        await broker.make_topic("t")
        assert await change(broker, (kind, name, ops)) == [(code, message)]
        assert configs_of(broker) == {}

    with_broker(body)


@on_broker
async def test_alter_configs_of_a_broker_logger_is_refused(broker: Broker) -> None:
    assert await replace(broker, (LOGGER, "1", FINE)) == [(42, "Unknown resource type 8")]


@on_broker
async def test_duplicate_resource_is_refused_in_both_entries(broker: Broker) -> None:
    await broker.make_topic("t")
    await broker.make_topic("u")
    refused = (42, "Each resource must appear at most once.")
    for alter in (replace, change):
        response = await alter(broker, (TOPIC, "t", FINE), (TOPIC, "u", FINE), (TOPIC, "t", []))
        assert response == [refused, (0, None), refused]
        assert configs_of(broker, "t") == {}
