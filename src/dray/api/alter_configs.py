"""AlterConfigs (key 33), versions 0 to 2.

Version notes:
- 2: flexible.

Differences from Kafka:
- Only configs of topics and of groups (consumer protocol) can be changed.

It replaces all configs of a resource; clients prefer IncrementalAlterConfigs (KIP-339).
"""

from collections.abc import Iterator, Mapping
from typing import Final

from dray.api.authorization import Access
from dray.api.config_changes import Keys, alter, answer_each, changed_configs, require_valid
from dray.api.config_entries import ResourceType
from dray.api.errors import RequestRejected
from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.wire import ErrorCode
from dray.wire.apis.alter_configs import (
    ALTER_CONFIGS,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


async def handle(request: AlterConfigsRequest, context: Context, services: Services) -> AlterConfigsResponse:
    async def alter_one(resource: AlterConfigsResource) -> None:
        await _alter(resource, context.access, services, validate_only=request.validate_only)

    return AlterConfigsResponse(
        responses=await answer_each(request.resources, alter_one, AlterConfigsResourceResponse)
    )


async def _alter(
    resource: AlterConfigsResource, access: Access, services: Services, *, validate_only: bool
) -> None:
    configs = resource.configs
    require_valid(
        [config.name for config in configs], [config.name for config in configs if config.value is None]
    )
    if resource.resource_type == ResourceType.BROKER_LOGGER:
        raise RequestRejected(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.resource_type}")

    def replaced(_: Mapping[str, str], __: Keys) -> Mapping[str, str]:
        return {config.name: config.value or "" for config in configs}

    await alter(resource, replaced, access, services, validate_only=validate_only)


def _changes(request: AlterConfigsRequest) -> Iterator[str]:
    return changed_configs(request.resources)


API: Final = Served(ALTER_CONFIGS, versions=(0, 2), handle=handle, changes=_changes)
