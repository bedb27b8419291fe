"""Topics: create, grow, configure, delete, list and describe."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from confluent_kafka import TopicCollection
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    ResourceType,
    TopicDescription,
)

from dray.client.admin import Admin
from dray.client.errors import UnknownConfig, client_error
from dray.client.offsets import EARLIEST, LATEST, offsets_at

_NO_LEADER: Final = -1
PARTITIONS_MAX: Final = 100_000
"""The most that librdkafka accepts in a request."""
BROKER_DEFAULT: Final = -1
"""Number of partitions that leaves the choice to the broker."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic and the leaders of its partitions."""

    name: str
    id: str
    """As Kafka's tools print it: base64url."""
    leaders: tuple[int, ...]
    """Broker ids, by partition."""

    @property
    def partitions(self) -> range:
        return range(len(self.leaders))


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    """A partition: its leader, first offset, and the offset its next record will get."""

    partition: int
    leader: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TopicDetails:
    """A topic with its offsets and the configs that were set on it."""

    name: str
    id: str
    configs: dict[str, str | None]
    partitions: list[PartitionDescription]


def create_topic(admin: Admin, name: str, partitions: int, configs: Mapping[str, str]) -> int:
    """Create a topic and return its number of partitions."""

    def create() -> None:
        new = NewTopic(name, num_partitions=partitions, config=dict(configs))
        admin.wait_each(admin.client.create_topics([new], **admin.options), _subject)

    admin.retry(create)
    return len(find_topic(admin, name, is_new=True).leaders) if partitions == BROKER_DEFAULT else partitions


def delete_topic(admin: Admin, name: str) -> None:
    admin.retry(lambda: admin.wait_each(admin.client.delete_topics([name], **admin.options), _subject))


def grow_topic(admin: Admin, name: str, partitions: int) -> None:
    """Add partitions to a topic until it has this many."""

    def grow() -> None:
        wanted = NewPartitions(name, partitions)
        admin.wait_each(admin.client.create_partitions([wanted], **admin.options), _subject)

    admin.retry(grow)


def alter_configs(admin: Admin, name: str, values: Mapping[str, str], deleted: Sequence[str]) -> None:
    """Set some configs of a topic and reset others to their defaults, all or none."""
    changes = [
        *(_change(key, value, AlterConfigOpType.SET) for key, value in values.items()),
        *(_change(key, None, AlterConfigOpType.DELETE) for key in deleted),
    ]

    def alter() -> None:
        resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=changes)
        admin.wait_each(
            admin.client.incremental_alter_configs([resource], **admin.options),
            lambda one: _subject(one.name),
        )

    admin.retry(alter)


def require_known_configs(admin: Admin, name: str, keys: Iterable[str]) -> None:
    """Raise `UnknownConfig` for keys that no topic has; a broker, like Kafka's, deletes any key."""

    def describe() -> set[str]:
        futures = admin.client.describe_configs([ConfigResource(ResourceType.TOPIC, name)], **admin.options)
        (found,) = admin.wait_each(futures, lambda one: _subject(one.name)).values()
        return set(found)

    known = admin.retry(describe)
    unknown = [key for key in keys if key not in known]
    if unknown:
        wrong = ", ".join(f"'{key}'" for key in unknown)
        raise UnknownConfig(
            f"{_subject(name)}: there is no config {wrong}; known are {', '.join(sorted(known))}"
        )


def find_topic(admin: Admin, name: str, *, is_new: bool = False) -> Topic:
    """Return a topic; raises `UnknownTopic`, for a new one only once brokers had time to learn of it."""
    return admin.retry(lambda: _described(admin, [name])[0], unknown_topic=is_new)


def ensure_topic(admin: Admin, name: str) -> int:
    """Return how many partitions a topic has; a broker that creates topics automatically creates it now."""

    def look_up() -> int:
        found = admin.client.list_topics(name, admin.config.timeout_s).topics[name]
        if found.error is not None:
            raise client_error(found.error, _subject(name))
        return len(found.partitions)

    return admin.retry(look_up, unknown_topic=True)


def list_topics(admin: Admin) -> list[Topic]:
    """Return all topics by name."""
    names = sorted(admin.client.list_topics(timeout=admin.config.timeout_s).topics)
    return admin.retry(lambda: _described(admin, names)) if names else []


def describe_topics(admin: Admin, names: Sequence[str]) -> list[TopicDetails]:
    """Return these topics in full, or all of them, by name."""
    found = admin.retry(lambda: _described(admin, sorted(set(names)))) if names else list_topics(admin)
    configs = _configs(admin, [topic.name for topic in found])
    return [
        TopicDetails(topic.name, topic.id, configs[topic.name], _partitions(admin, topic)) for topic in found
    ]


def _described(admin: Admin, names: Sequence[str]) -> list[Topic]:
    found = admin.client.describe_topics(TopicCollection(list(names)), **admin.options)
    return [_topic(one) for one in admin.wait_each(found, _subject).values()]


def _topic(found: TopicDescription) -> Topic:
    leaders = tuple(getattr(one.leader, "id", _NO_LEADER) for one in found.partitions)
    return Topic(found.name, str(found.topic_id).translate(_BASE64URL), leaders)


_BASE64URL = str.maketrans("+/", "-_")


def _partitions(admin: Admin, topic: Topic) -> list[PartitionDescription]:
    starts = offsets_at(admin, topic.name, topic.partitions, EARLIEST)
    ends = offsets_at(admin, topic.name, topic.partitions, LATEST)
    return [
        PartitionDescription(number, topic.leaders[number], starts[number], ends[number])
        for number in topic.partitions
    ]


def _configs(admin: Admin, names: Sequence[str]) -> dict[str, dict[str, str | None]]:
    """Return by topic the configs that were set on it."""
    if not names:
        return {}

    def describe() -> dict[str, dict[str, str | None]]:
        wanted = [ConfigResource(ResourceType.TOPIC, name) for name in names]
        futures = admin.client.describe_configs(wanted, **admin.options)
        found = admin.wait_each(futures, lambda one: _subject(one.name))
        return {
            resource.name: {entry.name: entry.value for entry in configs.values() if _is_set(entry)}
            for resource, configs in found.items()
        }

    return admin.retry(describe)


def _is_set(entry: ConfigEntry) -> bool:
    return ConfigSource(entry.source) is ConfigSource.DYNAMIC_TOPIC_CONFIG


def _change(name: str, value: str | None, operation: AlterConfigOpType) -> ConfigEntry:
    return ConfigEntry(name, value, incremental_operation=operation)


def _subject(name: str) -> str:
    return f"topic '{name}'"
