"""AlterConfigs (key 33). Versions 0 to 2: replaces all configs of a resource.

Deviations: only topics and groups have configs that can be changed (see `config_changes`), and groups only
those of the consumer protocol.
"""

from collections.abc import Mapping

from dray.api.config_changes import Keys, alter, require_once, require_sound
from dray.api.config_resources import ResourceType
from dray.api.errors import EXPECTED, Refused, code_of, message_of
from dray.api.exchange import Context
from dray.api.services import Services
from dray.wire import ErrorCode
from dray.wire.apis.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


async def handle(request: AlterConfigsRequest, _: Context, services: Services) -> AlterConfigsResponse:
    return AlterConfigsResponse(
        responses=[await _answer(resource, request, services) for resource in request.resources]
    )


async def _answer(
    resource: AlterConfigsResource, request: AlterConfigsRequest, services: Services
) -> AlterConfigsResourceResponse:
    code, message = ErrorCode.NONE, None
    try:
        require_once(resource, request.resources)
        await _alter(resource, services, validate_only=request.validate_only)
    except EXPECTED as error:
        code, message = code_of(error), message_of(error)
    return AlterConfigsResourceResponse(
        error_code=code,
        error_message=message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


async def _alter(resource: AlterConfigsResource, services: Services, *, validate_only: bool) -> None:
    configs = resource.configs
    require_sound(
        [config.name for config in configs], [config.name for config in configs if config.value is None]
    )
    if resource.resource_type == ResourceType.BROKER_LOGGER:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.resource_type}")

    def replaced(_: Mapping[str, str], __: Keys) -> Mapping[str, str]:
        return {config.name: config.value or "" for config in configs}

    await alter(resource, replaced, services, validate_only=validate_only)
