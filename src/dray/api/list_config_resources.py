"""ListConfigResources (key 74). Versions 0 to 1.

Deviations: there are no configs of client metrics. Brokers are those of the client's zone, as in Metadata.
"""

from collections.abc import Callable, Mapping

from dray.api.config_resources import ResourceType
from dray.api.exchange import Context
from dray.api.services import Services
from dray.wire import ErrorCode
from dray.wire.apis.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

_TYPES_FROM_VERSION = 1


async def handle(
    request: ListConfigResourcesRequest, context: Context, services: Services
) -> ListConfigResourcesResponse:
    listed = _listed(context, services)
    asked = set(request.resource_types) or set(listed)
    if not asked <= set(listed):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind, names in listed.items()
            if kind in asked
            for name in names()
        ]
    )


def _listed(context: Context, services: Services) -> Mapping[int, Callable[[], list[str]]]:
    """Return what can be listed, in the order of the answer."""

    def nothing() -> list[str]:
        return []

    def brokers() -> list[str]:
        return [str(broker.broker_id) for broker in services.brokers_for(context)]

    def topics() -> list[str]:
        return [topic.name for topic in services.topics.all()]

    if context.version < _TYPES_FROM_VERSION:
        return {ResourceType.CLIENT_METRICS: nothing}
    return {
        ResourceType.GROUP: services.group_configs.names,
        ResourceType.CLIENT_METRICS: nothing,
        ResourceType.BROKER_LOGGER: brokers,
        ResourceType.BROKER: brokers,
        ResourceType.TOPIC: topics,
    }
