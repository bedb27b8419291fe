"""Changing configs: what AlterConfigs and IncrementalAlterConfigs have in common.

Both say for each resource how its configs change; here it is checked, in Kafka's order, that the resource can
be changed at all, and then the change is applied by one commit. Topics and groups have configs that clients
may change: a broker's are in Dray's settings file, client metrics have none.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from dray.api.config_resources import ResourceType, resource_type
from dray.api.errors import Refused
from dray.api.services import Services
from dray.cluster.configs import TOPIC_CONFIGS, validate_configs
from dray.cluster.group_config_keys import GROUP_CONFIGS, validate_group_configs
from dray.cluster.topic_config_keys import ConfigKey
from dray.cluster.topic_names import why_invalid
from dray.cluster.topics import Topic, TopicUnknown
from dray.wire import ErrorCode

Keys: TypeAlias = Mapping[str, ConfigKey]
"""What configs a kind of resource can have, by name."""
Change: TypeAlias = Callable[[Mapping[str, str], Keys], Mapping[str, str]]
"""Makes the new configs of the old ones, unchecked; raises `InvalidConfig` or `Refused`."""


class Named(Protocol):
    """A resource of either request."""

    @property
    def resource_type(self) -> int: ...

    @property
    def resource_name(self) -> str: ...


def require_once(resource: Named, resources: Sequence[Named]) -> None:
    times = sum(
        (other.resource_type, other.resource_name) == (resource.resource_type, resource.resource_name)
        for other in resources
    )
    if times > 1:
        raise Refused(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")


def require_sound(names: Sequence[str], without_value: Sequence[str]) -> None:
    """Raise if a config is named twice, or has no value and needs one."""
    if any(count > 1 for count in Counter(names).values()):
        raise Refused(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    if without_value:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(without_value)}")


async def alter(resource: Named, change: Change, services: Services, *, validate_only: bool) -> None:
    """Change the configs of a resource, or find out that it could be done."""
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
            raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.resource_type}")


async def _alter_topic(name: str, change: Change, services: Services, *, validate_only: bool) -> None:
    if not name:
        raise Refused(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
    wrong = why_invalid(name)
    if wrong is not None:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, wrong)

    def changed(old: Mapping[str, str]) -> Mapping[str, str]:
        return validate_configs(change(old, TOPIC_CONFIGS))

    try:
        if validate_only:
            changed((await _present(name, services)).configs)
        else:
            await services.topics.configure(name, lambda topic: changed(topic.configs))
    except TopicUnknown:
        changed({})  # a change that no topic could take is told first
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.") from None


async def _alter_group(name: str, change: Change, services: Services, *, validate_only: bool) -> None:
    if not name:
        raise Refused(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
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
    if name and not name.removeprefix("-").isdecimal():
        raise Refused(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
    if name and int(name) != me:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Unexpected broker id, expected {me}, but received {name}")


def _unchangeable(why: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, f"Clients cannot change this. {why}")
