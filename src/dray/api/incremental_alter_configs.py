"""IncrementalAlterConfigs (key 44), versions 0 to 1 (KIP-339).

Version notes:
- 1: flexible.

Differences from Kafka:
- Only configs of topics and of groups (consumer protocol) can be changed.
- An unknown operation gets INVALID_REQUEST (Kafka returns UNKNOWN_SERVER_ERROR).
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Final

from dray.api.authorization import Access
from dray.api.config_changes import Keys, alter, answer_each, changed_configs, require_valid
from dray.api.errors import RequestRejected
from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.cluster.config_values import ConfigType, InvalidConfig
from dray.wire import ErrorCode
from dray.wire.apis.incremental_alter_configs import (
    INCREMENTAL_ALTER_CONFIGS,
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


class Operation(IntEnum):
    """Operations on a config."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


async def handle(
    request: IncrementalAlterConfigsRequest, context: Context, services: Services
) -> IncrementalAlterConfigsResponse:
    async def alter_one(resource: AlterConfigsResource) -> None:
        await _alter(resource, context.access, services, validate_only=request.validate_only)

    return IncrementalAlterConfigsResponse(
        responses=await answer_each(request.resources, alter_one, AlterConfigsResourceResponse)
    )


async def _alter(
    resource: AlterConfigsResource, access: Access, services: Services, *, validate_only: bool
) -> None:
    configs = resource.configs
    require_valid(
        [config.name for config in configs],
        [
            config.name
            for config in configs
            if config.value is None and config.config_operation != Operation.DELETE
        ],
    )

    def changed(old: Mapping[str, str], keys: Keys) -> Mapping[str, str]:
        return apply(configs, old, keys)

    await alter(resource, changed, access, services, validate_only=validate_only)


def apply(changes: Sequence[AlterableConfig], old: Mapping[str, str], keys: Keys) -> Mapping[str, str]:
    """Return the configs after the changes; raises `InvalidConfig` or `RequestRejected`."""
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
            raise RequestRejected(ErrorCode.INVALID_REQUEST, f"Unknown operations type {unknown}")


def _appended(parts: list[str], added: Sequence[str]) -> list[str]:
    """Append the values that are not in the list yet."""
    for part in added:
        if part not in parts:
            parts.append(part)
    return parts


def _subtracted(parts: list[str], removed: Sequence[str]) -> list[str]:
    """Remove each value once."""
    for part in removed:
        if part in parts:
            parts.remove(part)
    return parts


def _parts(change: AlterableConfig, old: str | None, keys: Keys) -> list[str]:
    key = keys.get(change.name)
    if key is None or key.type != ConfigType.LIST:
        operation = Operation(change.config_operation).name
        raise InvalidConfig(f"Can't {operation} to key {change.name} because its type is not LIST.")
    return [part for part in (key.default if old is None else old).split(",") if part]


def _changes(request: IncrementalAlterConfigsRequest) -> Iterator[str]:
    return changed_configs(request.resources)


API: Final = Served(INCREMENTAL_ALTER_CONFIGS, versions=(0, 1), handle=handle, changes=_changes)
