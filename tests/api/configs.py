"""Helpers that describe and change configs through the APIs."""

from typing import NamedTuple

from dray.wire.apis import alter_configs as whole
from dray.wire.apis import incremental_alter_configs as stepwise
from dray.wire.apis.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from tests.api.builders import Broker

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)
Result = tuple[int, str | None]


class Op(NamedTuple):
    """A change of a config."""

    name: str
    value: str | None = None
    operation: int = SET


async def replace(
    broker: Broker, *resources: tuple[int, str, list[Op]], validate_only: bool = False, version: int = 2
) -> list[Result]:
    request = whole.AlterConfigsRequest(
        resources=[
            whole.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[whole.AlterableConfig(name=op.name, value=op.value) for op in ops],
            )
            for kind, name, ops in resources
        ],
        validate_only=validate_only,
    )
    answer = await broker.ask(whole.AlterConfigsResponse, request, version)
    requested = [(kind, name) for kind, name, _ in resources]
    assert [(one.resource_type, one.resource_name) for one in answer.responses] == requested
    return [(one.error_code, one.error_message) for one in answer.responses]


async def change(
    broker: Broker, *resources: tuple[int, str, list[Op]], validate_only: bool = False, version: int = 1
) -> list[Result]:
    request = stepwise.IncrementalAlterConfigsRequest(
        resources=[
            stepwise.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    stepwise.AlterableConfig(name=op.name, value=op.value, config_operation=op.operation)
                    for op in ops
                ],
            )
            for kind, name, ops in resources
        ],
        validate_only=validate_only,
    )
    answer = await broker.ask(stepwise.IncrementalAlterConfigsResponse, request, version)
    requested = [(kind, name) for kind, name, _ in resources]
    assert [(one.resource_type, one.resource_name) for one in answer.responses] == requested
    return [(one.error_code, one.error_message) for one in answer.responses]


async def describe(
    broker: Broker,
    kind: int,
    name: str,
    *keys: str,
    version: int = 4,
    synonyms: bool = False,
    documentation: bool = False,
) -> DescribeConfigsResult:
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(
                resource_type=kind, resource_name=name, configuration_keys=list(keys) or None
            )
        ],
        include_synonyms=synonyms,
        include_documentation=documentation,
    )
    (result,) = (await broker.ask(DescribeConfigsResponse, request, version)).results
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


def by_name(result: DescribeConfigsResult) -> dict[str, DescribeConfigsResourceResult]:
    assert result.error_code == 0
    return {config.name: config for config in result.configs}
