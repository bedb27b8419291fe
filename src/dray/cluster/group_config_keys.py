"""All configs of a consumer protocol group: names, documentation and bounds.

Each overrides one of the cluster's `GroupLimits`, which also contain its bounds. Names, the order of the
checks and error messages are Kafka's.

Kafka 4.3 has more, for share groups and groups of Kafka Streams. Those are not served, so their configs are
unknown here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from dray.cluster.config_values import InvalidConfig, int_from
from dray.cluster.topic_config_keys import ConfigKey
from dray.groups.limits import GroupLimits

_KAFKAS_DEFAULTS: Final = GroupLimits()
SESSION: Final = "consumer.session.timeout.ms"
HEARTBEAT: Final = "consumer.heartbeat.interval.ms"
ASSIGNMENT: Final = "consumer.assignment.interval.ms"


@dataclass(frozen=True, slots=True)
class GroupLimit:
    """The limit that a config overrides, by the names of its fields in `GroupLimits`."""

    default: str
    minimum: str
    maximum: str

    def of(self, limits: GroupLimits) -> int:
        """Return the default of all groups."""
        return int(getattr(limits, self.default))

    def bounds(self, limits: GroupLimits) -> tuple[int, int]:
        return int(getattr(limits, self.minimum)), int(getattr(limits, self.maximum))


LIMITS: Final[Mapping[str, GroupLimit]] = MappingProxyType(
    {
        name: GroupLimit(f"consumer_{limit}", f"consumer_min_{limit}", f"consumer_max_{limit}")
        for name, limit in (
            (HEARTBEAT, "heartbeat_interval_ms"),
            (SESSION, "session_timeout_ms"),
            (ASSIGNMENT, "assignment_interval_ms"),
        )
    }
)
"""Limits by config, in the order in which bounds are checked."""


def _key(name: str, low: int, documentation: str) -> ConfigKey:
    default = str(LIMITS[name].of(_KAFKAS_DEFAULTS))
    return ConfigKey(name, int_from(low), default, f"group.{name}", documentation)


_KEYS: Final = (
    _key(SESSION, 1, "Session timeout of the members of the group."),
    _key(HEARTBEAT, 1, "Heartbeat interval of the members of the group."),
    _key(ASSIGNMENT, 0, "Minimum time between two assignments of the group."),
)
GROUP_CONFIGS: Final[Mapping[str, ConfigKey]] = MappingProxyType({key.name: key for key in _KEYS})
"""Configs by name, in the order in which values are parsed."""


def validate_group_configs(configs: Mapping[str, str], limits: GroupLimits) -> dict[str, str]:
    """Validate all configs of a group as a client sent them; raises `InvalidConfig`."""
    for name in configs:
        if name not in GROUP_CONFIGS:
            raise InvalidConfig(f"Unknown group config name: {name}")
    values = {name: _value(name, configs, limits) for name in GROUP_CONFIGS}
    for name, limit in LIMITS.items():
        minimum, maximum = limit.bounds(limits)
        if values[name] < minimum:
            raise InvalidConfig(f"{name} must be greater than or equal to {_bound(name, 'min')}")
        if values[name] > maximum:
            raise InvalidConfig(f"{name} must be less than or equal to {_bound(name, 'max')}")
    if values[SESSION] <= values[HEARTBEAT]:
        raise InvalidConfig(f"{SESSION} must be greater than {HEARTBEAT}")
    return dict(configs)


def own_limits(configs: Mapping[str, str], limits: GroupLimits) -> GroupLimits:
    """Return the limits of a group with these configs.

    They were validated when they were set, possibly against other bounds: a value outside of today's bounds
    is clamped. If the session timeout is then not longer than the heartbeat interval, both get their
    defaults.
    """
    values = {name: _within(_value(name, configs, limits), *LIMITS[name].bounds(limits)) for name in LIMITS}
    if values[SESSION] <= values[HEARTBEAT]:
        values |= {name: LIMITS[name].of(limits) for name in (SESSION, HEARTBEAT)}
    return replace(limits, **{LIMITS[name].default: value for name, value in values.items()})


def _value(name: str, configs: Mapping[str, str], limits: GroupLimits) -> int:
    text = configs.get(name)
    if text is None:
        return LIMITS[name].of(limits)
    value = GROUP_CONFIGS[name].parse(text)
    assert isinstance(value, int)
    return value


def _within(value: int, minimum: int, maximum: int) -> int:
    return min(max(value, minimum), maximum)


def _bound(name: str, which: str) -> str:
    """Return Kafka's name of a bound, such as group.consumer.min.session.timeout.ms."""
    protocol, _, limit = name.partition(".")
    return f"group.{protocol}.{which}.{limit}"
