"""What a broker tells of its groups' settings has Kafka's names, types and defaults."""

from typing import Any

import pytest

from dray.testing import broker
from dray.wire.apis.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from dray.wire.apis.metadata import MetadataRequest, MetadataResponse
from tests.oracle.asking import Asker, asking
from tests.oracle.kafka import Kafka

BROKER, DEFAULT = 4, 5
ONLY_HERE: dict[str, str] = {
    "group.coordinator.rebalance.protocols": "Kafka serves share groups and groups of Kafka Streams besides",
}
"""Settings whose default is another one than Kafka's, and why."""


def told(asker: Asker) -> dict[str, tuple[str | None, int, bool]]:
    """Return the groups' settings of the one broker there is: default, type, whether it can be changed."""
    (node,) = asker.ask(MetadataRequest(topics=[]), MetadataResponse).brokers
    asked = DescribeConfigsResource(
        resource_type=BROKER, resource_name=str(node.node_id), configuration_keys=None
    )
    request = DescribeConfigsRequest(resources=[asked], include_synonyms=True)
    (result,) = asker.ask(request, DescribeConfigsResponse).results
    return {
        one.name: (_default(one), one.config_type, one.read_only)
        for one in result.configs
        if one.name.startswith(("group.", "offset"))
    }


def _default(one: Any) -> str | None:
    return next((synonym.value for synonym in one.synonyms if synonym.source == DEFAULT), None)


@pytest.mark.real("java")
def test_the_settings_of_groups_are_called_as_in_kafka(apache_kafka: Kafka) -> None:
    with asking(apache_kafka.address, 30) as asker:
        kafka = told(asker)
    usual = {"groups.initial_rebalance_delay_ms": "3000"}  # which the kit sets to nothing
    with broker(usual) as dray, asking((dray.host, dray.port), 30) as asker:
        ours = told(asker)
    assert len(ours) == 20
    assert ours.keys() <= kafka.keys()
    differing = {name for name in ours if ours[name][:2] != kafka[name][:2]}
    assert differing == ONLY_HERE.keys(), [(name, ours[name], kafka[name]) for name in differing]
    assert all(read_only for *_, read_only in ours.values())
