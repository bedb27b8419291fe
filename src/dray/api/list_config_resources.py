"""ListConfigResources (key 74), versions 0 to 1.

Version notes:
- 0: client metrics only (KIP-1000).
- 1: all types of resources, and a filter by type (KIP-1142).

Differences from Kafka:
- Client metrics have no configs.
- Brokers are those of the client's zone, as in Metadata.
"""

from collections.abc import Callable, Mapping
from typing import Final

from dray.acls import Operation
from dray.api.config_entries import ResourceType
from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.wire import ErrorCode
from dray.wire.apis.list_config_resources import (
    LIST_CONFIG_RESOURCES,
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

_TYPES_FROM_VERSION = 1


async def handle(
    request: ListConfigResourcesRequest, context: Context, services: Services
) -> ListConfigResourcesResponse:
    if not context.access.allows_on_cluster(Operation.DESCRIBE_CONFIGS):
        return ListConfigResourcesResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    listed = _listed(context, services)
    requested = set(request.resource_types) or set(listed)
    if not requested <= set(listed):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind, names in listed.items()
            if kind in requested
            for name in names()
        ]
    )


def _listed(context: Context, services: Services) -> Mapping[int, Callable[[], list[str]]]:
    """Return the names of resources by type, in the order of the response."""

    def nothing() -> list[str]:
        return []

    def brokers() -> list[str]:
        return [str(broker.broker_id) for broker in services.routing.visible(context.origin)]

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


API: Final = Served(LIST_CONFIG_RESOURCES, versions=(0, 1), handle=handle)
