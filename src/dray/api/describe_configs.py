"""DescribeConfigs (key 32), versions 1 to 4.

Version notes:
- 1: synonyms and the source of a value (KIP-226).
- 3: types and documentation (KIP-569).
- 4: flexible.

Differences from Kafka:
- A broker reports Dray's settings under Kafka's names, all read-only; there are no cluster-wide broker
  defaults.
- Broker loggers are not exposed.
- Groups have the configs of the consumer protocol, but none of share groups and streams groups.
- Client metrics have no configs.
"""

from collections.abc import Sequence
from typing import Final

from dray.acls import Operation
from dray.api.authorization import Access
from dray.api.broker_configs import broker_entries
from dray.api.config_entries import (
    ConfigEntry,
    ResourceType,
    broker_id,
    group_entries,
    require_on_resource,
    resource_type,
    topic_entries,
)
from dray.api.errors import EXPECTED, RequestRejected, code_of, message_of
from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.cluster.topic_names import why_invalid
from dray.wire import ErrorCode
from dray.wire.apis.describe_configs import (
    DESCRIBE_CONFIGS,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)


async def handle(
    request: DescribeConfigsRequest, context: Context, services: Services
) -> DescribeConfigsResponse:
    if any(resource_type(requested.resource_type) is None for requested in request.resources):
        unknown = RequestRejected(ErrorCode.INVALID_REQUEST, "Unexpected resource type")
        return DescribeConfigsResponse(
            results=[_failed(requested, unknown) for requested in request.resources]
        )
    return DescribeConfigsResponse(
        results=[_describe(requested, request, context.access, services) for requested in request.resources]
    )


def _describe(
    requested: DescribeConfigsResource, request: DescribeConfigsRequest, access: Access, services: Services
) -> DescribeConfigsResult:
    try:
        require_on_resource(access, Operation.DESCRIBE_CONFIGS, requested)
        entries = _entries(requested, services)
    except EXPECTED as error:
        return _failed(requested, error)
    keys = requested.configuration_keys
    return DescribeConfigsResult(
        resource_type=requested.resource_type,
        resource_name=requested.resource_name,
        configs=[_result(entry, request) for entry in entries if not keys or entry.name in keys],
    )


def _entries(requested: DescribeConfigsResource, services: Services) -> Sequence[ConfigEntry]:
    name = requested.resource_name
    match resource_type(requested.resource_type):
        case ResourceType.TOPIC:
            return _topic(name, services)
        case ResourceType.BROKER:
            if not name:
                return ()
            _require_me(name, services, " or empty string,")
            return broker_entries(services)
        case ResourceType.BROKER_LOGGER:
            _require_name(name, "Broker id")
            _require_me(name, services, "")
        case ResourceType.CLIENT_METRICS:
            _require_name(name, "Client metrics subscription name")
        case ResourceType.GROUP:
            _require_name(name, "Group name")
            configs = services.group_configs
            return group_entries(configs.find(name), configs.limits)
    return ()


def _topic(name: str, services: Services) -> Sequence[ConfigEntry]:
    wrong = why_invalid(name)
    if wrong is not None:
        raise RequestRejected(ErrorCode.INVALID_TOPIC_EXCEPTION, wrong)
    topic = services.topics.find(name)
    if topic is None:
        raise RequestRejected(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
    return topic_entries(topic.configs)


def _require_name(name: str, what: str) -> None:
    if not name:
        raise RequestRejected(ErrorCode.INVALID_REQUEST, f"{what} must not be empty")


def _require_me(name: str, services: Services, alternative: str) -> None:
    me = services.me.broker_id
    if broker_id(name) != me:
        raise RequestRejected(
            ErrorCode.INVALID_REQUEST, f"Unexpected broker id, expected {me}{alternative} but received {name}"
        )


def _result(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = [
        DescribeConfigsSynonym(name=synonym.name, value=synonym.value, source=synonym.source)
        for synonym in (entry.synonyms if request.include_synonyms else ())
    ]
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        synonyms=synonyms,
        config_type=entry.type,
        documentation=entry.documentation if request.include_documentation else None,
    )


def _failed(requested: DescribeConfigsResource, error: BaseException) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=code_of(error),
        error_message=message_of(error),
        resource_type=requested.resource_type,
        resource_name=requested.resource_name,
    )


API: Final = Served(DESCRIBE_CONFIGS, versions=(1, 4), handle=handle)
