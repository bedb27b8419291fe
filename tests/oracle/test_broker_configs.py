"""Group settings in DescribeConfigs of a broker: Kafka's names, types and defaults."""

from typing import Any

import pytest

from dray.testing import broker
from dray.wire.apis.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from dray.wire.apis.metadata import MetadataRequest, MetadataResponse
from tests.oracle.kafka import Kafka
from tests.oracle.request_client import RequestClient, request_client

BROKER, DEFAULT = 4, 5
ONLY_HERE: dict[str, str] = {
    "group.coordinator.rebalance.protocols": "Kafka serves share groups and groups of Kafka Streams besides",
}
"""Settings whose default is another one than Kafka's, and why."""


def described(client: RequestClient) -> dict[str, tuple[str | None, int, bool]]:
    """Return the only broker's group settings: default, type, whether it is dynamic."""
    (node,) = client.send(MetadataRequest(topics=[]), MetadataResponse).brokers
    asked = DescribeConfigsResource(
        resource_type=BROKER, resource_name=str(node.node_id), configuration_keys=None
    )
    request = DescribeConfigsRequest(resources=[asked], include_synonyms=True)
    (result,) = client.send(request, DescribeConfigsResponse).results
    return {
        one.name: (_default(one), one.config_type, one.read_only)
        for one in result.configs
        if one.name.startswith(("group.", "offset"))
    }


def _default(one: Any) -> str | None:
    return next((synonym.value for synonym in one.synonyms if synonym.source == DEFAULT), None)


@pytest.mark.real("java")
def test_group_settings_have_kafkas_names(apache_kafka: Kafka) -> None:
    with request_client(apache_kafka.address, 30) as client:
        kafka = described(client)
    usual = {"groups.initial_rebalance_delay_ms": "3000"}  # which the test kit sets to 0
    with broker(usual) as dray, request_client((dray.host, dray.port), 30) as client:
        ours = described(client)
    assert len(ours) == 20
    assert ours.keys() <= kafka.keys()
    differing = {name for name in ours if ours[name][:2] != kafka[name][:2]}
    assert differing == ONLY_HERE.keys(), [(name, ours[name], kafka[name]) for name in differing]
    assert all(read_only for *_, read_only in ours.values())
