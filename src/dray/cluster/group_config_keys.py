"""Every config that a group of the consumer protocol can have of its own, and what it may be set to.

Each stands in for one of the cluster's `GroupLimits`, which also hold its bounds. The names, the order of the
checks and the words are Kafka's.

Kafka 4.3 knows more, for share groups and groups of Kafka Streams. Those are not served, so their configs are
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
    """The limit that a config stands in for, by the names of its fields in `GroupLimits`."""

    usual: str
    least: str
    most: str

    def of(self, limits: GroupLimits) -> int:
        """What a group has that says nothing else."""
        return int(getattr(limits, self.usual))

    def bounds(self, limits: GroupLimits) -> tuple[int, int]:
        return int(getattr(limits, self.least)), int(getattr(limits, self.most))


LIMITS: Final[Mapping[str, GroupLimit]] = MappingProxyType(
    {
        name: GroupLimit(f"consumer_{what}", f"consumer_min_{what}", f"consumer_max_{what}")
        for name, what in (
            (HEARTBEAT, "heartbeat_interval_ms"),
            (SESSION, "session_timeout_ms"),
            (ASSIGNMENT, "assignment_interval_ms"),
        )
    }
)
"""By config, in the order in which bounds are checked."""


def _key(name: str, low: int, documentation: str) -> ConfigKey:
    default = str(LIMITS[name].of(_KAFKAS_DEFAULTS))
    return ConfigKey(name, int_from(low), default, f"group.{name}", documentation)


_KEYS: Final = (
    _key(SESSION, 1, "How long a member of the group may be silent."),
    _key(HEARTBEAT, 1, "How often members of the group are told to call."),
    _key(ASSIGNMENT, 0, "The shortest time between two assignments of the group."),
)
GROUP_CONFIGS: Final[Mapping[str, ConfigKey]] = MappingProxyType({key.name: key for key in _KEYS})
"""By name, in the order in which values are read."""


def validate_group_configs(configs: Mapping[str, str], limits: GroupLimits) -> dict[str, str]:
    """Check all configs of a group as a client gave them; raises `InvalidConfig`."""
    for name in configs:
        if name not in GROUP_CONFIGS:
            raise InvalidConfig(f"Unknown group config name: {name}")
    values = {name: _value(name, configs, limits) for name in GROUP_CONFIGS}
    for name, limit in LIMITS.items():
        least, most = limit.bounds(limits)
        if values[name] < least:
            raise InvalidConfig(f"{name} must be greater than or equal to {_bound(name, 'min')}")
        if values[name] > most:
            raise InvalidConfig(f"{name} must be less than or equal to {_bound(name, 'max')}")
    if values[SESSION] <= values[HEARTBEAT]:
        raise InvalidConfig(f"{SESSION} must be greater than {HEARTBEAT}")
    return dict(configs)


def own_limits(configs: Mapping[str, str], limits: GroupLimits) -> GroupLimits:
    """The limits of a group with these configs.

    They were checked when they were set, perhaps against other bounds: what is outside today's is taken for
    the bound. A session that no longer outlasts the interval of calls makes both of them the usual ones.
    """
    values = {name: _within(_value(name, configs, limits), *LIMITS[name].bounds(limits)) for name in LIMITS}
    if values[SESSION] <= values[HEARTBEAT]:
        values |= {name: LIMITS[name].of(limits) for name in (SESSION, HEARTBEAT)}
    return replace(limits, **{LIMITS[name].usual: value for name, value in values.items()})


def _value(name: str, configs: Mapping[str, str], limits: GroupLimits) -> int:
    text = configs.get(name)
    if text is None:
        return LIMITS[name].of(limits)
    value = GROUP_CONFIGS[name].parse(text)
    assert isinstance(value, int)
    return value


def _within(value: int, least: int, most: int) -> int:
    return min(max(value, least), most)


def _bound(name: str, which: str) -> str:
    """What Kafka's brokers call a bound: group.consumer.min.session.timeout.ms."""
    protocol, _, what = name.partition(".")
    return f"group.{protocol}.{which}.{what}"
