"""Configs as clients see them: the resource, the effective value, its source, and its synonyms.

A topic config is either set on the topic or the default; a group config may also come from the broker's
settings. Synonyms are all names under which a value is, or could be, set: first that of the topic or group,
then that of Kafka's broker config.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from dray.acls import Operation
from dray.acls import ResourceType as SecuredType
from dray.api.authorization import Access, denied
from dray.api.errors import RequestRejected
from dray.cluster.config_values import ConfigType
from dray.cluster.group_config_keys import GROUP_CONFIGS, LIMITS
from dray.cluster.topic_config_keys import TOPIC_CONFIGS, ConfigKey
from dray.groups.limits import GroupLimits
from dray.wire import ErrorCode

_DIGITS_MAX = 20
_WITHOUT_DEFAULT = frozenset(
    {"log.flush.interval.ms", "log.retention.ms", "log.roll.jitter.ms", "log.roll.ms"}
)
"""Kafka's brokers define these defaults under other names (in hours), so they are not synonyms."""


class ResourceType(IntEnum):
    """Types of resources that have configs."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class Source(IntEnum):
    """Sources of values, as in DescribeConfigs."""

    TOPIC = 1
    STATIC_BROKER = 4
    DEFAULT = 5
    GROUP = 8


@dataclass(frozen=True, slots=True)
class Synonym:
    """A name under which a value is, or could be, set."""

    name: str
    value: str
    source: Source


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One config of a topic, a group or a broker."""

    name: str
    value: str
    type: ConfigType
    source: Source
    documentation: str
    synonyms: tuple[Synonym, ...]
    read_only: bool = False


def resource_type(number: int) -> ResourceType | None:
    try:
        return ResourceType(number)
    except ValueError:
        return None


class Named(Protocol):
    """A resource of a request."""

    @property
    def resource_type(self) -> int: ...

    @property
    def resource_name(self) -> str: ...


def require_on_resource(access: Access, operation: Operation, resource: Named) -> None:
    """Raise `RequestRejected` if the operation is not allowed on a resource; brokers are of the cluster."""
    name = resource.resource_name
    match resource_type(resource.resource_type):
        case ResourceType.TOPIC:
            if not access.allows_on_topic(operation, name):
                raise denied(SecuredType.TOPIC)
        case ResourceType.GROUP:
            if not access.allows_on_group(operation, name):
                raise denied(SecuredType.GROUP)
        case ResourceType.BROKER | ResourceType.BROKER_LOGGER | ResourceType.CLIENT_METRICS:
            access.require_on_cluster(operation)
        case None:
            pass  # there is no such resource


def is_number(name: str) -> bool:
    """Return whether the name of a resource is a number that a broker can have."""
    return name.removeprefix("-").isdecimal() and len(name) <= _DIGITS_MAX


def broker_id(name: str) -> int:
    """Return the broker id in the name of a broker resource."""
    if not is_number(name):
        raise RequestRejected(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
    return int(name)


def topic_entries(configs: Mapping[str, str]) -> list[ConfigEntry]:
    """Return all configs of a topic, given those set on it."""
    return [_topic_entry(key, configs.get(key.name)) for key in TOPIC_CONFIGS.values()]


def _topic_entry(key: ConfigKey, text: str | None) -> ConfigEntry:
    synonyms = _broker_synonyms(key)
    if text is None:
        return ConfigEntry(key.name, key.default, key.type, Source.DEFAULT, key.documentation, synonyms)
    value = key.shown(text)
    synonyms = (Synonym(key.name, value, Source.TOPIC), *synonyms)
    return ConfigEntry(key.name, value, key.type, Source.TOPIC, key.documentation, synonyms)


def group_entries(configs: Mapping[str, str], limits: GroupLimits) -> list[ConfigEntry]:
    """Return all configs of a group, given those set on it and the broker's limits."""
    return [_group_entry(key, configs.get(key.name), limits) for key in GROUP_CONFIGS.values()]


def _group_entry(key: ConfigKey, text: str | None, limits: GroupLimits) -> ConfigEntry:
    synonyms = _group_synonyms(key, str(LIMITS[key.name].of(limits)))
    if text is not None:
        synonyms = (Synonym(key.name, key.shown(text), Source.GROUP), *synonyms)
    effective = synonyms[0]
    return ConfigEntry(key.name, effective.value, key.type, effective.source, key.documentation, synonyms)


def _group_synonyms(key: ConfigKey, from_settings: str) -> tuple[Synonym, ...]:
    name = key.broker_synonym or key.name
    default = Synonym(name, key.default, Source.DEFAULT)
    if from_settings == key.default:
        return (default,)
    return Synonym(name, from_settings, Source.STATIC_BROKER), default


def _broker_synonyms(key: ConfigKey) -> tuple[Synonym, ...]:
    if key.broker_synonym is None or key.broker_synonym in _WITHOUT_DEFAULT:
        return ()
    return (Synonym(key.broker_synonym, key.default, Source.DEFAULT),)
