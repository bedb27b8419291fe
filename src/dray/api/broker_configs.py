"""Configs of a broker, as clients see them: Dray's settings under Kafka's names.

A value that is not the default of its setting is reported as static. Broker-level defaults of topic and group
configs are reported as well. Everything is read-only: values are changed in the settings file.
"""

from collections.abc import Iterator

from dray.api.config_entries import ConfigEntry, Source, Synonym
from dray.api.services import Services
from dray.api.settings import KafkaSettings
from dray.cluster.addresses import Address
from dray.cluster.brokers import PLAINTEXT, Endpoint
from dray.cluster.config_values import ConfigType, Value, as_text
from dray.cluster.topic_config_keys import TOPIC_CONFIGS
from dray.groups.consumer import ASSIGNORS
from dray.groups.limits import GroupLimits

PARTITIONS_DESCRIBED_MAX = 2000

_SETTINGS = {
    "auto_create_topics_enable": ConfigType.BOOLEAN,
    "default_replication_factor": ConfigType.INT,
    "delete_topic_enable": ConfigType.BOOLEAN,
    "fetch_max_bytes": ConfigType.INT,
    "max_incremental_fetch_session_cache_slots": ConfigType.INT,
    "min_incremental_fetch_session_eviction_ms": ConfigType.LONG,
    "num_partitions": ConfigType.INT,
}
_DEFAULTS = KafkaSettings()
_GROUP_DEFAULTS = GroupLimits()
_KAFKA_NAMES = {
    "consumer_group_max_size": "group.consumer.max.size",
    "group_max_size": "group.max.size",
    "offset_metadata_max_bytes": "offset.metadata.max.bytes",
    "offsets_retention_check_interval_ms": "offsets.retention.check.interval.ms",
}
"""Limits whose Kafka name is not `group.` and the name of the setting."""
_OTHERWISE = frozenset({"offsets_retention_ms", "consumer_regex_refresh_interval_ms", "lag_interval_ms"})
"""Kafka has the first in minutes, does not show the second, and does not have the third."""
_LONG = frozenset({"offsets_retention_check_interval_ms"})
_MINUTE_MS = 60_000
_LISTS = frozenset({"listeners", "ssl.enabled.protocols"})


def broker_entries(services: Services) -> list[ConfigEntry]:
    """Return the configs of this broker, by name."""
    found = [*_own(services), *_from_settings(services.settings), *_of_topics()]
    found += _of_groups(services.group_configs.limits)
    return sorted(found, key=lambda entry: entry.name)


def _own(services: Services) -> Iterator[ConfigEntry]:
    me = services.me
    endpoints = me.listeners or (Endpoint(PLAINTEXT, me.host, me.port),)
    addresses = ",".join(f"{one.name}://{Address(one.host, one.port)}" for one in endpoints)
    yield _entry("advertised.listeners", ConfigType.LIST, addresses, "Addresses that clients connect to.")
    for name, value in services.listener_configs.items():
        kind = ConfigType.LIST if name in _LISTS else ConfigType.STRING
        yield _entry(name, kind, value, "From Dray's settings of the sections broker and tls.")
    yield _entry("broker.id", ConfigType.INT, me.broker_id, "The broker's id.")
    yield _entry("node.id", ConfigType.INT, me.broker_id, "The broker's id.")
    if me.zone is not None:
        yield _entry("broker.rack", ConfigType.STRING, me.zone, "Availability zone of the broker.")
    yield _entry(
        "max.request.partition.size.limit",
        ConfigType.INT,
        PARTITIONS_DESCRIBED_MAX,
        "Maximum number of partitions in a DescribeTopicPartitions response.",
        source=Source.DEFAULT,
    )


def _from_settings(settings: KafkaSettings) -> Iterator[ConfigEntry]:
    for field, kind in _SETTINGS.items():
        value = getattr(settings, field)
        source = Source.DEFAULT if value == getattr(_DEFAULTS, field) else Source.STATIC_BROKER
        name = field.replace("_", ".")
        yield _entry(name, kind, value, f"Dray's setting kafka.{field}.", source=source)


def _of_groups(limits: GroupLimits) -> Iterator[ConfigEntry]:
    for field in GroupLimits.__struct_fields__:
        if field not in _OTHERWISE:
            name = _KAFKA_NAMES.get(field, f"group.{field.replace('_', '.')}")
            value = getattr(limits, field)
            yield _group_entry(name, value, f"Dray's setting groups.{field}.", limits, field)
    minutes = limits.offsets_retention_ms // _MINUTE_MS
    documentation = "Dray's setting groups.offsets_retention_ms, in whole minutes."
    yield _group_entry("offsets.retention.minutes", minutes, documentation, limits, "offsets_retention_ms")
    served = {
        "group.consumer.assignors": (
            ASSIGNORS,
            "Server-side assignors, the default first.",
        ),
        "group.coordinator.rebalance.protocols": (("classic", "consumer"), "Enabled rebalance protocols."),
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
