"""Changes of configs: the parts that AlterConfigs and IncrementalAlterConfigs share.

Each request has a change for each resource. The resource is validated, in Kafka's order, then the change is
applied in one commit. Clients can change configs of topics and groups. A broker's are in Dray's settings
file, and client metrics have none.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias, TypeVar

from dray.acls import Operation
from dray.api.authorization import Access
from dray.api.config_entries import Named, ResourceType, is_number, require_on_resource, resource_type
from dray.api.errors import EXPECTED, RequestRejected, code_of, message_of
from dray.api.services import Services
from dray.cluster.configs import TOPIC_CONFIGS, validate_configs
from dray.cluster.group_config_keys import GROUP_CONFIGS, validate_group_configs
from dray.cluster.topic_admin import TopicUnknown
from dray.cluster.topic_config_keys import ConfigKey
from dray.cluster.topic_names import why_invalid
from dray.cluster.topics import Topic
from dray.wire import ErrorCode

Keys: TypeAlias = Mapping[str, ConfigKey]
"""The configs of a type of resource, by name."""
Change: TypeAlias = Callable[[Mapping[str, str], Keys], Mapping[str, str]]
"""Returns the new configs, not validated, from the old ones; raises `InvalidConfig`, `RequestRejected`."""


class _Config(Protocol):
    @property
    def name(self) -> str: ...


class Changed(Named, Protocol):
    """A resource with the configs to change."""

    @property
    def configs(self) -> Sequence[_Config]: ...


N = TypeVar("N", bound=Named)
R = TypeVar("R")


async def answer_each(
    resources: Sequence[N], alter_one: Callable[[N], Awaitable[None]], result: Callable[..., R]
) -> list[R]:
    """Alter each resource, and return its result with the error, if there is one."""
    return [await _answer(resource, resources, alter_one, result) for resource in resources]


async def _answer(
    resource: N, resources: Sequence[N], alter_one: Callable[[N], Awaitable[None]], result: Callable[..., R]
) -> R:
    code, message = ErrorCode.NONE, None
    try:
        _require_once(resource, resources)
        await alter_one(resource)
    except EXPECTED as error:
        code, message = code_of(error), message_of(error)
    return result(
        error_code=code,
        error_message=message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def changed_configs(resources: Iterable[Changed]) -> Iterator[str]:
    """Return the resources and the names of their configs, for the audit log; values may be secrets."""
    for resource in resources:
        kind = resource_type(resource.resource_type)
        shown = resource.resource_type if kind is None else kind.name
        yield f"{shown}:{resource.resource_name} {' '.join(one.name for one in resource.configs)}"


def _require_once(resource: Named, resources: Sequence[Named]) -> None:
    times = sum(
        (other.resource_type, other.resource_name) == (resource.resource_type, resource.resource_name)
        for other in resources
    )
    if times > 1:
        raise RequestRejected(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")


def require_valid(names: Sequence[str], without_value: Sequence[str]) -> None:
    """Raise if a config is named twice, or lacks a value that it needs."""
    if any(count > 1 for count in Counter(names).values()):
        raise RequestRejected(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    if without_value:
        raise RequestRejected(
            ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(without_value)}"
        )


async def alter(
    resource: Named, change: Change, access: Access, services: Services, *, validate_only: bool
) -> None:
    """Change the configs of a resource, or only check whether that is possible."""
    require_on_resource(access, Operation.ALTER_CONFIGS, resource)
    name = resource.resource_name
    match resource_type(resource.resource_type):
        case ResourceType.TOPIC:
            await _alter_topic(name, change, services, validate_only=validate_only)
        case ResourceType.BROKER | ResourceType.BROKER_LOGGER:
            _require_me(name, services)
            raise _unchangeable("A broker's configs and log levels are set in its settings file.")
        case ResourceType.GROUP:
            await _alter_group(name, change, services, validate_only=validate_only)
        case ResourceType.CLIENT_METRICS:
            raise _unchangeable("Dray keeps no configs of client metrics.")
        case None:
            raise RequestRejected(
                ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.resource_type}"
            )


async def _alter_topic(name: str, change: Change, services: Services, *, validate_only: bool) -> None:
    if not name:
        raise RequestRejected(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
    wrong = why_invalid(name)
    if wrong is not None:
        raise RequestRejected(ErrorCode.INVALID_TOPIC_EXCEPTION, wrong)

    def changed(old: Mapping[str, str]) -> Mapping[str, str]:
        return validate_configs(change(old, TOPIC_CONFIGS))

    try:
        if validate_only:
            changed((await _present(name, services)).configs)
        else:
            await services.topic_admin.configure(name, lambda topic: changed(topic.configs))
    except TopicUnknown:
        changed({})  # an invalid change is reported before the unknown topic
        raise RequestRejected(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist."
        ) from None


async def _alter_group(name: str, change: Change, services: Services, *, validate_only: bool) -> None:
    if not name:
        raise RequestRejected(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
    configs = services.group_configs

    def changed(old: Mapping[str, str]) -> Mapping[str, str]:
        return validate_group_configs(change(old, GROUP_CONFIGS), configs.limits)

    if validate_only:
        changed(await configs.fresh(name))
    else:
        await configs.configure(name, changed)


async def _present(name: str, services: Services) -> Topic:
    topic = await services.topics.fresh(name)
    if topic is None:
        raise TopicUnknown(name)
    return topic


def _require_me(name: str, services: Services) -> None:
    me = services.me.broker_id
    if name and not is_number(name):
        raise RequestRejected(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
    if name and int(name) != me:
        raise RequestRejected(
            ErrorCode.INVALID_REQUEST, f"Unexpected broker id, expected {me}, but received {name}"
        )


def _unchangeable(why: str) -> RequestRejected:
    return RequestRejected(ErrorCode.INVALID_REQUEST, f"Clients cannot change this. {why}")
