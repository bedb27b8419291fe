"""What `dray topics` tells about topics: gathered from brokers, and shown as text or JSON."""

import base64
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

import msgspec

from dray.cli.client import Cluster
from dray.cli.client.cluster import TopicLayout, layout_of
from dray.cli.client.offsets import EARLIEST, LATEST, offsets_at
from dray.cli.client.topic_admin import configs_of
from dray.cli.tables import table

_COLUMNS: Final = ("partition", "leader", "start", "end", "records")


@dataclass(frozen=True, slots=True)
class ListedTopic:
    """A line of the list."""

    name: str
    partitions: int
    id: str


@dataclass(frozen=True, slots=True)
class DescribedPartition:
    """A partition: where it begins, and the offset that its next record will have."""

    partition: int
    leader: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DescribedTopic:
    """A topic in full; only configs that were set on it."""

    name: str
    id: str
    configs: dict[str, str | None]
    partitions: list[DescribedPartition]


async def listed(cluster: Cluster) -> list[ListedTopic]:
    found = await cluster.retried(lambda: cluster.metadata(None))
    topics = [
        ListedTopic(one.name or "", len(one.partitions), shown_id(one.topic_id)) for one in found.topics
    ]
    return sorted(topics, key=lambda topic: topic.name)


async def described(cluster: Cluster, names: Sequence[str]) -> list[DescribedTopic]:
    """Describe these topics, or all."""
    found = await cluster.retried(lambda: cluster.metadata(names or None))
    every = [layout_of(one.name or "", found.topics) for one in found.topics]
    if not every:
        return []
    configs = await configs_of(cluster, [layout.name for layout in every])
    return [
        DescribedTopic(
            layout.name,
            shown_id(layout.topic_id),
            {config.name: config.value for config in configs[layout.name] if config.is_set},
            await _partitions(cluster, layout),
        )
        for layout in sorted(every, key=lambda layout: layout.name)
    ]


async def _partitions(cluster: Cluster, layout: TopicLayout) -> list[DescribedPartition]:
    starts = await offsets_at(cluster, layout.name, layout.partitions, EARLIEST)
    ends = await offsets_at(cluster, layout.name, layout.partitions, LATEST)
    return [
        DescribedPartition(number, layout.leaders[number], starts[number], ends[number])
        for number in layout.partitions
    ]


def shown_id(topic_id: bytes) -> str:
    """Write a topic's id as Kafka's tools do."""
    return base64.urlsafe_b64encode(topic_id).rstrip(b"=").decode()


def shown_json(found: Sequence[ListedTopic | DescribedTopic]) -> str:
    return msgspec.json.format(msgspec.json.encode([asdict(one) for one in found])).decode()


def shown_list(found: Sequence[ListedTopic]) -> str:
    rows = [(topic.name, topic.partitions, topic.id) for topic in found]
    return "\n".join(table(("topic", "partitions", "id"), rows)) if rows else ""


def pages(found: Sequence[DescribedTopic]) -> str:
    return "\n\n".join(_page(topic) for topic in found)


def _page(topic: DescribedTopic) -> str:
    configs = [f"  {name}={value}" for name, value in topic.configs.items()]
    rows = [(one.partition, one.leader, one.start, one.end, one.end - one.start) for one in topic.partitions]
    lines = [f"topic {topic.name}, id {topic.id}", *configs, *(f"  {line}" for line in table(_COLUMNS, rows))]
    return "\n".join(lines)
