"""Configs as clients are shown them: the value in force, where it comes from, what else would give it.

A topic's config is either set on the topic or the default; a group's may also come from the broker's
settings. Synonyms are the names under which it is, or could be, set: first the topic's or group's own, then
what Kafka's brokers call it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from dray.cluster.config_values import ConfigType
from dray.cluster.group_config_keys import GROUP_CONFIGS, LIMITS
from dray.cluster.topic_config_keys import TOPIC_CONFIGS, ConfigKey
from dray.groups.limits import GroupLimits

_WITHOUT_DEFAULT = frozenset(
    {"log.flush.interval.ms", "log.retention.ms", "log.roll.jitter.ms", "log.roll.ms"}
)
"""Kafka's brokers have the defaults of these under other names (in hours), so they are nobody's synonym."""


class Source(IntEnum):
    """Where a value comes from, as DescribeConfigs numbers it."""

    TOPIC = 1
    STATIC_BROKER = 4
    DEFAULT = 5
    GROUP = 8


@dataclass(frozen=True, slots=True)
class Synonym:
    """A name under which the value is, or would be, set."""

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


def topic_entries(configs: Mapping[str, str]) -> list[ConfigEntry]:
    """Return all configs of a topic that has set these."""
    return [_topic_entry(key, configs.get(key.name)) for key in TOPIC_CONFIGS.values()]


def _topic_entry(key: ConfigKey, text: str | None) -> ConfigEntry:
    synonyms = _broker_synonyms(key)
    if text is None:
        return ConfigEntry(key.name, key.default, key.type, Source.DEFAULT, key.documentation, synonyms)
    value = key.shown(text)
    synonyms = (Synonym(key.name, value, Source.TOPIC), *synonyms)
    return ConfigEntry(key.name, value, key.type, Source.TOPIC, key.documentation, synonyms)


def group_entries(configs: Mapping[str, str], limits: GroupLimits) -> list[ConfigEntry]:
    """Return all configs of a group that has set these, where the broker's own are `limits`."""
    return [_group_entry(key, configs.get(key.name), limits) for key in GROUP_CONFIGS.values()]


def _group_entry(key: ConfigKey, text: str | None, limits: GroupLimits) -> ConfigEntry:
    synonyms = _group_synonyms(key, str(LIMITS[key.name].of(limits)))
    if text is not None:
        synonyms = (Synonym(key.name, key.shown(text), Source.GROUP), *synonyms)
    strongest = synonyms[0]
    return ConfigEntry(key.name, strongest.value, key.type, strongest.source, key.documentation, synonyms)


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
