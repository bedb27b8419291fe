"""DescribeConfigs: configs of topics and brokers, and errors."""

import pytest

from dray.api.settings import KafkaSettings
from dray.cluster.configs import TOPIC_CONFIGS
from dray.wire import ErrorCode
from dray.wire.apis.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from tests.api.builders import Broker, Cluster, on_broker, on_cluster, with_broker
from tests.api.configs import BROKER, GROUP, LOGGER, METRICS, TOPIC, by_name, describe

TOPIC_DYNAMIC, STATIC, DEFAULT = 1, 4, 5


@on_broker
async def test_all_configs_of_a_topic_are_described(broker: Broker) -> None:
    await broker.make_topic(
        "t", max_message_bytes=" 2000 ", preallocate="TRUE", cleanup_policy="delete , compact"
    )
    configs = by_name(await describe(broker, TOPIC, "t"))
    assert sorted(configs) == sorted(TOPIC_CONFIGS)
    response = {
        name: (config.value, config.config_source, config.config_type) for name, config in configs.items()
    }
    assert response["max.message.bytes"] == ("2000", TOPIC_DYNAMIC, 3)
    assert response["preallocate"] == ("true", TOPIC_DYNAMIC, 1)
    assert response["cleanup.policy"] == ("delete,compact", TOPIC_DYNAMIC, 7)
    assert response["compression.type"] == ("producer", DEFAULT, 2)
    assert response["retention.ms"] == ("604800000", DEFAULT, 5)
    assert response["min.cleanable.dirty.ratio"] == ("0.5", DEFAULT, 6)
    for config in configs.values():
        assert (config.read_only, config.is_sensitive, config.synonyms, config.documentation) == (
            False,
            False,
            [],
            None,
        )


@on_broker
async def test_synonyms_and_documentation_are_returned_on_request(broker: Broker) -> None:
    await broker.make_topic("t", max_message_bytes="2000", retention_ms="5")
    configs = by_name(await describe(broker, TOPIC, "t", synonyms=True, documentation=True))
    response = {
        name: [(synonym.name, synonym.value, synonym.source) for synonym in config.synonyms]
        for name, config in configs.items()
    }
    assert response["max.message.bytes"] == [
        ("max.message.bytes", "2000", TOPIC_DYNAMIC),
        ("message.max.bytes", "1048588", DEFAULT),
    ]
    assert response["retention.bytes"] == [("log.retention.bytes", "-1", DEFAULT)]
    # Kafka's brokers have these in hours, so the names in milliseconds have no default.
    assert response["retention.ms"] == [("retention.ms", "5", TOPIC_DYNAMIC)]
    assert response["segment.ms"] == response["flush.ms"] == response["segment.jitter.ms"] == []
    assert all(config.documentation for config in configs.values())


@on_broker
async def test_only_requested_keys_are_returned_and_unknown_ones_are_ignored(broker: Broker) -> None:
    await broker.make_topic("t")
    configs = by_name(await describe(broker, TOPIC, "t", "retention.ms", "no.such", "segment.ms"))
    assert sorted(configs) == ["retention.ms", "segment.ms"]
    empty = DescribeConfigsRequest(
        resources=[DescribeConfigsResource(resource_type=TOPIC, resource_name="t")]
    )
    (result,) = (await broker.ask(DescribeConfigsResponse, empty)).results
    assert len(result.configs) == len(TOPIC_CONFIGS)


@on_broker
async def test_every_version_is_answered(broker: Broker) -> None:
    await broker.make_topic("t")
    for version in range(1, 5):
        configs = by_name(await describe(broker, TOPIC, "t", "retention.ms", version=version))
        assert configs["retention.ms"].config_type == (5 if version >= 3 else 0)


@on_cluster
async def test_broker_returns_its_settings_as_read_only(cluster: Cluster) -> None:
    broker = await cluster.broker(3, zone="z1", settings=KafkaSettings(num_partitions=8))
    configs = by_name(await describe(broker, BROKER, "3", synonyms=True, documentation=True))
    response = {
        name: (config.value, config.config_source, config.config_type) for name, config in configs.items()
    }
    assert response["num.partitions"] == ("8", STATIC, 3)
    assert response["auto.create.topics.enable"] == ("true", DEFAULT, 1)
    assert response["default.replication.factor"] == ("1", DEFAULT, 3)
    assert response["message.max.bytes"] == ("1048588", DEFAULT, 3)
    assert response["log.retention.ms"] == ("604800000", DEFAULT, 5)
    assert response["group.max.size"] == ("2147483647", DEFAULT, 3)
    assert response["group.consumer.session.timeout.ms"] == ("45000", DEFAULT, 3)
    assert response["group.consumer.migration.policy"] == ("bidirectional", DEFAULT, 2)
    assert response["group.consumer.assignors"] == ("uniform,range", DEFAULT, 7)
    assert response["offsets.retention.minutes"] == ("10080", DEFAULT, 3)
    assert "group.lag.interval.ms" not in response, "Kafka has no such setting"
    assert response["broker.id"] == ("3", STATIC, 3)
    assert response["broker.rack"] == ("z1", STATIC, 2)
    assert response["advertised.listeners"] == ("PLAINTEXT://host3:9095", STATIC, 7)
    assert list(configs) == sorted(configs)
    for config in configs.values():
        assert config.read_only
        assert config.documentation
        assert [(one.name, one.value) for one in config.synonyms] == [(config.name, config.value)]


@on_broker
async def test_broker_defaults_metrics_and_loggers_have_no_configs(broker: Broker) -> None:
    for kind, name in ((BROKER, ""), (LOGGER, "1"), (METRICS, "m")):
        result = await describe(broker, kind, name)
        assert (result.error_code, result.configs) == (0, [])


REFUSED = {
    "unknown topic": (TOPIC, "missing", 3, ""),
    "bad topic": (TOPIC, "", 17, "Topic name is invalid: the empty string is not allowed"),
    "other broker": (BROKER, "2", 42, "Unexpected broker id, expected 1 or empty string, but received 2"),
    "no broker": (BROKER, "x", 42, "Broker id must be an integer, but it is: x"),
    "other's loggers": (LOGGER, "2", 42, "Unexpected broker id, expected 1 but received 2"),
    "missing's loggers": (LOGGER, "", 42, "Broker id must not be empty"),
    "no metrics": (METRICS, "", 42, "Client metrics subscription name must not be empty"),
    "no group": (GROUP, "", 42, "Group name must not be empty"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_errors_have_the_code_and_message_of_kafka(case: str) -> None:
    kind, name, code, message = REFUSED[case]

    async def body(broker: Broker) -> None:
        result = await describe(broker, kind, name)
        assert (result.error_code, result.error_message, result.configs) == (code, message, [])

    with_broker(body)


@on_broker
async def test_unknown_resource_type_fails_the_whole_request(broker: Broker) -> None:
    await broker.make_topic("t")
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(resource_type=kind, resource_name="t") for kind in (TOPIC, 3, 0, -1)
        ]
    )
    results = (await broker.ask(DescribeConfigsResponse, request)).results
    assert [result.error_code for result in results] == [ErrorCode.INVALID_REQUEST] * 4
