"""Configs as clients are shown them: the value in force, where it comes from, what else would give it.

A topic's config is either set on the topic or the default. Synonyms are the names under which it is, or could
be, set: first the topic's own, then what Kafka's brokers call the default.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from dray.cluster.config_values import ConfigType
from dray.cluster.topic_config_keys import TOPIC_CONFIGS, ConfigKey

_WITHOUT_DEFAULT = frozenset(
    {"log.flush.interval.ms", "log.retention.ms", "log.roll.jitter.ms", "log.roll.ms"}
)
"""Kafka's brokers have the defaults of these under other names (in hours), so they are nobody's synonym."""


class Source(IntEnum):
    """Where a value comes from, as DescribeConfigs numbers it."""

    TOPIC = 1
    STATIC_BROKER = 4
    DEFAULT = 5


@dataclass(frozen=True, slots=True)
class Synonym:
    """A name under which the value is, or would be, set."""

    name: str
    value: str
    source: Source


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One config of a topic or a broker."""

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


def _broker_synonyms(key: ConfigKey) -> tuple[Synonym, ...]:
    if key.broker_synonym is None or key.broker_synonym in _WITHOUT_DEFAULT:
        return ()
    return (Synonym(key.broker_synonym, key.default, Source.DEFAULT),)
