"""What a broker tells when it is asked for its configs: Dray's settings under the names Kafka has for them.

A value that is not the default of Dray's own setting is told as a static one. Defaults of topic configs are
told under their brokers' names as well. Everything is read-only: the settings file is the place to change it.
"""

from collections.abc import Iterator

from dray.api.config_entries import ConfigEntry, Source, Synonym
from dray.api.services import Services
from dray.api.settings import KafkaSettings
from dray.cluster.config_values import ConfigType, Value, as_text
from dray.cluster.topic_config_keys import TOPIC_CONFIGS

PARTITIONS_DESCRIBED_MAX = 2000

_SETTINGS = {
    "auto.create.topics.enable": (ConfigType.BOOLEAN, "auto_create_topics"),
    "default.replication.factor": (ConfigType.INT, "default_replication_factor"),
    "delete.topic.enable": (ConfigType.BOOLEAN, "delete_topics"),
    "fetch.max.bytes": (ConfigType.INT, "fetch_bytes_max"),
    "num.partitions": (ConfigType.INT, "num_partitions"),
}
_DEFAULTS = KafkaSettings()


def broker_entries(services: Services) -> list[ConfigEntry]:
    """Return the configs of this broker, by name."""
    found = [*_own(services), *_from_settings(services.settings), *_of_topics()]
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
