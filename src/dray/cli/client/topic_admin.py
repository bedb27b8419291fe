"""Making, growing, configuring, deleting and listing topics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dray.cli.client.cluster import Cluster
from dray.cli.client.errors import raise_for
from dray.wire.apis.create_partitions import (
    CREATE_PARTITIONS,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from dray.wire.apis.create_topics import (
    CREATE_TOPICS,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from dray.wire.apis.delete_topics import (
    DELETE_TOPICS,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from dray.wire.apis.describe_configs import (
    DESCRIBE_CONFIGS,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from dray.wire.apis.incremental_alter_configs import (
    INCREMENTAL_ALTER_CONFIGS,
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

BROKERS_CHOICE: Final = -1
"""A number of partitions or replicas that is left to the broker."""
_TOPIC: Final = 2
_SET: Final = 0
_DELETE: Final = 1
_ON_THE_TOPIC: Final = 1


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """A topic's config as a broker tells it."""

    name: str
    value: str | None
    is_set: bool
    """Set on the topic itself, not a default."""


async def create_topic(cluster: Cluster, name: str, partitions: int, configs: Mapping[str, str]) -> int:
    """Make a topic; returns how many partitions it has."""
    asked = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=BROKERS_CHOICE,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )
    request = CreateTopicsRequest(topics=[asked], timeout_ms=_timeout_ms(cluster))

    async def create() -> int:
        answer = await cluster.ask(CREATE_TOPICS, request, CreateTopicsResponse)
        for topic in answer.topics:
            raise_for(topic.error_code, f"topic '{name}'", topic.error_message)
        return answer.topics[0].num_partitions

    return await cluster.changed(create)


async def delete_topic(cluster: Cluster, name: str) -> None:
    request = DeleteTopicsRequest(
        topic_names=[name], topics=[DeleteTopicState(name=name)], timeout_ms=_timeout_ms(cluster)
    )

    async def delete() -> None:
        answer = await cluster.ask(DELETE_TOPICS, request, DeleteTopicsResponse)
        for topic in answer.responses:
            raise_for(topic.error_code, f"topic '{name}'", topic.error_message)

    await cluster.changed(delete)


async def grow_topic(cluster: Cluster, name: str, partitions: int) -> None:
    """Add partitions until there are this many."""
    asked = CreatePartitionsTopic(name=name, count=partitions, assignments=None)
    request = CreatePartitionsRequest(topics=[asked], timeout_ms=_timeout_ms(cluster))

    async def grow() -> None:
        answer = await cluster.ask(CREATE_PARTITIONS, request, CreatePartitionsResponse)
        for topic in answer.results:
            raise_for(topic.error_code, f"topic '{name}'", topic.error_message)

    await cluster.changed(grow)


async def alter_configs(cluster: Cluster, name: str, given: Mapping[str, str], gone: Sequence[str]) -> None:
    """Set some configs of a topic and put others back to their defaults, all or none."""
    changes = [
        *(AlterableConfig(name=key, config_operation=_SET, value=value) for key, value in given.items()),
        *(AlterableConfig(name=key, config_operation=_DELETE, value=None) for key in gone),
    ]
    resource = AlterConfigsResource(resource_type=_TOPIC, resource_name=name, configs=changes)
    request = IncrementalAlterConfigsRequest(resources=[resource])

    async def alter() -> None:
        answer = await cluster.ask(INCREMENTAL_ALTER_CONFIGS, request, IncrementalAlterConfigsResponse)
        for topic in answer.responses:
            raise_for(topic.error_code, f"topic '{name}'", topic.error_message)

    await cluster.changed(alter)


async def configs_of(cluster: Cluster, names: Sequence[str]) -> dict[str, list[ConfigValue]]:
    """Return every config of these topics, by topic."""
    resources = [
        DescribeConfigsResource(resource_type=_TOPIC, resource_name=name, configuration_keys=None)
        for name in names
    ]

    async def describe() -> dict[str, list[ConfigValue]]:
        answer = await cluster.ask(
            DESCRIBE_CONFIGS, DescribeConfigsRequest(resources=resources), DescribeConfigsResponse
        )
        for topic in answer.results:
            raise_for(topic.error_code, f"topic '{topic.resource_name}'", topic.error_message)
        return {topic.resource_name: [_value(one) for one in topic.configs] for topic in answer.results}

    return await cluster.retried(describe)


def _value(told: DescribeConfigsResourceResult) -> ConfigValue:
    return ConfigValue(told.name, told.value, told.config_source == _ON_THE_TOPIC)


def _timeout_ms(cluster: Cluster) -> int:
    return int(cluster.parts.timeout_s * 1000)
