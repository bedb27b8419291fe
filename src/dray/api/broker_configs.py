"""What a broker tells when it is asked for its configs: Dray's settings under the names Kafka has for them.

A value that is not the default of Dray's own setting is told as a static one. Defaults of topic configs are
told under their brokers' names as well, and so is what holds for groups that say nothing else. Everything is
read-only: the settings file is the place to change it.
"""

from collections.abc import Iterator

from dray.api.config_entries import ConfigEntry, Source, Synonym
from dray.api.services import Services
from dray.api.settings import KafkaSettings
from dray.cluster.config_values import ConfigType, Value, as_text
from dray.cluster.topic_config_keys import TOPIC_CONFIGS
from dray.groups.assignors import ASSIGNORS
from dray.groups.limits import GroupLimits

PARTITIONS_DESCRIBED_MAX = 2000

_SETTINGS = {
    "auto.create.topics.enable": (ConfigType.BOOLEAN, "auto_create_topics"),
    "default.replication.factor": (ConfigType.INT, "default_replication_factor"),
    "delete.topic.enable": (ConfigType.BOOLEAN, "delete_topics"),
    "fetch.max.bytes": (ConfigType.INT, "fetch_bytes_max"),
    "num.partitions": (ConfigType.INT, "num_partitions"),
}
_DEFAULTS = KafkaSettings()
_GROUP_DEFAULTS = GroupLimits()
_NOT_GROUPS_ONLY = {
    "offset_metadata_max_bytes": "offset.metadata.max.bytes",
    "offsets_retention_check_interval_ms": "offsets.retention.check.interval.ms",
}
"""Limits that Kafka does not call `group.…`."""
_OTHERWISE = frozenset({"offsets_retention_ms", "consumer_regex_refresh_interval_ms", "lag_interval_ms"})
"""One that Kafka has in minutes, one that it does not show, and one that is Dray's own."""
_LONG = frozenset({"offsets_retention_check_interval_ms"})
_MINUTE_MS = 60_000


def broker_entries(services: Services) -> list[ConfigEntry]:
    """Return the configs of this broker, by name."""
    found = [*_own(services), *_from_settings(services.settings), *_of_topics()]
    found += _of_groups(services.group_configs.limits)
    return sorted(found, key=lambda entry: entry.name)


def _own(services: Services) -> Iterator[ConfigEntry]:
    me = services.me
    address = f"PLAINTEXT://{me.host}:{me.port}"
    yield _entry("advertised.listeners", ConfigType.LIST, address, "Where clients reach the broker.")
    yield _entry("broker.id", ConfigType.INT, me.broker_id, "The broker's id.")
    yield _entry("node.id", ConfigType.INT, me.broker_id, "The broker's id.")
    if me.zone is not None:
        yield _entry("broker.rack", ConfigType.STRING, me.zone, "The zone the broker is in.")
    yield _entry(
        "max.request.partition.size.limit",
        ConfigType.INT,
        PARTITIONS_DESCRIBED_MAX,
        "The most partitions that one answer to DescribeTopicPartitions holds.",
        source=Source.DEFAULT,
    )


def _from_settings(settings: KafkaSettings) -> Iterator[ConfigEntry]:
    for name, (kind, field) in _SETTINGS.items():
        value = getattr(settings, field)
        source = Source.DEFAULT if value == getattr(_DEFAULTS, field) else Source.STATIC_BROKER
        yield _entry(name, kind, value, f"Dray's setting kafka.{field}.", source=source)


def _of_groups(limits: GroupLimits) -> Iterator[ConfigEntry]:
    for field in GroupLimits.__struct_fields__:
        if field not in _OTHERWISE:
            name = _NOT_GROUPS_ONLY.get(field, f"group.{field.replace('_', '.')}")
            value = getattr(limits, field)
            yield _group_entry(name, value, f"Dray's setting groups.{field}.", limits, field)
    minutes = limits.offsets_retention_ms // _MINUTE_MS
    told = "Dray's setting groups.offsets_retention_ms, in whole minutes."
    yield _group_entry("offsets.retention.minutes", minutes, told, limits, "offsets_retention_ms")
    served = {
        "group.consumer.assignors": (
            ASSIGNORS,
            "The assignors, the usual one first.",
        ),
        "group.coordinator.rebalance.protocols": (("classic", "consumer"), "The protocols of groups."),
    }
    for name, (names, documentation) in served.items():
        yield _entry(name, ConfigType.LIST, ",".join(names), documentation, source=Source.DEFAULT)


def _group_entry(
    name: str, value: int | str, documentation: str, limits: GroupLimits, field: str
) -> ConfigEntry:
    number = ConfigType.LONG if field in _LONG else ConfigType.INT
    kind = number if isinstance(value, int) else ConfigType.STRING
    is_default = getattr(limits, field) == getattr(_GROUP_DEFAULTS, field)
    source = Source.DEFAULT if is_default else Source.STATIC_BROKER
    return _entry(name, kind, value, documentation, source=source)


def _of_topics() -> Iterator[ConfigEntry]:
    for key in TOPIC_CONFIGS.values():
        if key.broker_synonym is not None:
            yield _entry(key.broker_synonym, key.type, key.default, key.documentation, source=Source.DEFAULT)


def _entry(
    name: str, kind: ConfigType, value: Value, documentation: str, *, source: Source = Source.STATIC_BROKER
) -> ConfigEntry:
    text = as_text(value)
    return ConfigEntry(
        name, text, kind, source, documentation, (Synonym(name, text, source),), read_only=True
    )
