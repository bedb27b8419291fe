"""IncrementalAlterConfigs (key 44). Versions 0 to 1: changes some configs of a resource.

Deviations: only topics and groups have configs that can be changed (see `config_changes`), and groups only
those of the consumer protocol. An operation that Kafka does not know is answered with INVALID_REQUEST, where
Kafka's controller falls over it.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum

from dray.api.config_changes import Keys, alter, require_once, require_sound
from dray.api.errors import EXPECTED, Refused, code_of, message_of
from dray.api.exchange import Context
from dray.api.services import Services
from dray.cluster.config_values import ConfigType, InvalidConfig
from dray.wire import ErrorCode
from dray.wire.apis.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


class Operation(IntEnum):
    """What is to be done with a config."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


async def handle(
    request: IncrementalAlterConfigsRequest, _: Context, services: Services
) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=[await _answer(resource, request, services) for resource in request.resources]
    )


async def _answer(
    resource: AlterConfigsResource, request: IncrementalAlterConfigsRequest, services: Services
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
        [config.name for config in configs],
        [
            config.name
            for config in configs
            if config.value is None and config.config_operation != Operation.DELETE
        ],
    )

    def changed(old: Mapping[str, str], keys: Keys) -> Mapping[str, str]:
        return apply(configs, old, keys)

    await alter(resource, changed, services, validate_only=validate_only)


def apply(changes: Sequence[AlterableConfig], old: Mapping[str, str], keys: Keys) -> Mapping[str, str]:
    """Return the configs after the changes; raises `InvalidConfig` or `Refused`."""
    new = dict(old)
    for change in changes:
        value = _changed(change, old.get(change.name), keys)
        if value is None:
            new.pop(change.name, None)
        else:
            new[change.name] = value
    return new


def _changed(change: AlterableConfig, old: str | None, keys: Keys) -> str | None:
    given = change.value or ""
    match change.config_operation:
        case Operation.SET:
            return given
        case Operation.DELETE:
            return None
        case Operation.APPEND:
            return ",".join(_appended(_parts(change, old, keys), given.split(",")))
        case Operation.SUBTRACT:
            return ",".join(_subtracted(_parts(change, old, keys), given.split(",")))
        case unknown:
            raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown operations type {unknown}")


def _appended(parts: list[str], added: Sequence[str]) -> list[str]:
    """What is in the list already is not added, even if it is there twice."""
    for part in added:
        if part not in parts:
            parts.append(part)
    return parts


def _subtracted(parts: list[str], taken: Sequence[str]) -> list[str]:
    """Each part that is taken goes once."""
    for part in taken:
        if part in parts:
            parts.remove(part)
    return parts


def _parts(change: AlterableConfig, old: str | None, keys: Keys) -> list[str]:
    key = keys.get(change.name)
    if key is None or key.type != ConfigType.LIST:
        operation = Operation(change.config_operation).name
        raise InvalidConfig(f"Can't {operation} to key {change.name} because its type is not LIST.")
    return [part for part in (key.default if old is None else old).split(",") if part]
