"""DescribeConfigs (key 32). Versions 1 to 4.

Deviations: a broker tells the settings that Dray has, all read-only, and has no configs that were set for all
brokers. It has no loggers whose levels clients could see. Groups have the configs of the consumer protocol,
and none of those for share groups and groups of Kafka Streams. Client metrics have no configs.
"""

from collections.abc import Sequence

from dray.api.broker_configs import broker_entries
from dray.api.config_entries import ConfigEntry, group_entries, topic_entries
from dray.api.config_resources import ResourceType, broker_id, resource_type
from dray.api.errors import EXPECTED, Refused, code_of, message_of
from dray.api.exchange import Context
from dray.api.services import Services
from dray.cluster.topic_names import why_invalid
from dray.wire import ErrorCode
from dray.wire.apis.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)


async def handle(request: DescribeConfigsRequest, _: Context, services: Services) -> DescribeConfigsResponse:
    if any(resource_type(asked.resource_type) is None for asked in request.resources):
        unknown = Refused(ErrorCode.INVALID_REQUEST, "Unexpected resource type")
        return DescribeConfigsResponse(results=[_failed(asked, unknown) for asked in request.resources])
    return DescribeConfigsResponse(
        results=[_describe(asked, request, services) for asked in request.resources]
    )


def _describe(
    asked: DescribeConfigsResource, request: DescribeConfigsRequest, services: Services
) -> DescribeConfigsResult:
    try:
        entries = _entries(asked, services)
    except EXPECTED as error:
        return _failed(asked, error)
    keys = asked.configuration_keys
    return DescribeConfigsResult(
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
        configs=[_told(entry, request) for entry in entries if not keys or entry.name in keys],
    )


def _entries(asked: DescribeConfigsResource, services: Services) -> Sequence[ConfigEntry]:
    name = asked.resource_name
    match resource_type(asked.resource_type):
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
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, wrong)
    topic = services.topics.find(name)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
    return topic_entries(topic.configs)


def _require_name(name: str, what: str) -> None:
    if not name:
        raise Refused(ErrorCode.INVALID_REQUEST, f"{what} must not be empty")


def _require_me(name: str, services: Services, besides: str) -> None:
    me = services.me.broker_id
    if broker_id(name) != me:
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"Unexpected broker id, expected {me}{besides} but received {name}"
        )


def _told(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
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


def _failed(asked: DescribeConfigsResource, error: BaseException) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=code_of(error),
        error_message=message_of(error),
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
    )
