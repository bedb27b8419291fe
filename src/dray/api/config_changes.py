"""Changing configs: what AlterConfigs and IncrementalAlterConfigs have in common.

Both say for each resource how its configs change; here it is checked, in Kafka's order, that the resource can
be changed at all, and then the change is applied to a topic by one commit. Only topics have configs that
clients may change: a broker's are in Dray's settings file, groups and client metrics have none yet.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from dray.api.config_resources import ResourceType, resource_type
from dray.api.errors import Refused
from dray.api.services import Services
from dray.api.topic_names import why_invalid
from dray.cluster.topics import Topic, TopicUnknown
from dray.wire import ErrorCode

Change: TypeAlias = Callable[[Mapping[str, str]], Mapping[str, str]]
"""Makes the new configs of the old ones; raises `InvalidConfig` or `Refused`."""


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
        case ResourceType.GROUP | ResourceType.CLIENT_METRICS:
            raise _unchangeable("Dray keeps no configs of groups and client metrics.")
        case None:
            raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.resource_type}")


async def _alter_topic(name: str, change: Change, services: Services, *, validate_only: bool) -> None:
    if not name:
        raise Refused(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
    wrong = why_invalid(name)
    if wrong is not None:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, wrong)
    try:
        if validate_only:
            change((await _present(name, services)).configs)
        else:
            await services.topics.configure(name, lambda topic: change(topic.configs))
    except TopicUnknown:
        change({})  # a change that no topic could take is told first
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.") from None


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
