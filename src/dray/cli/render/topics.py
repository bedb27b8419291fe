"""Output of `dray topics`, as text and as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from dray.cli.render.formats import pretty_json, table
from dray.client.topics import Topic, TopicDetails

_COLUMNS: Final = ("partition", "leader", "start", "end", "records")


def list_json(found: Sequence[Topic]) -> str:
    return pretty_json([{"name": one.name, "partitions": len(one.leaders), "id": one.id} for one in found])


def list_text(found: Sequence[Topic]) -> str:
    rows = [(one.name, len(one.leaders), one.id) for one in found]
    return "\n".join(table(("topic", "partitions", "id"), rows)) if rows else ""


def details_json(found: Sequence[TopicDetails]) -> str:
    return pretty_json([asdict(one) for one in found])


def details_text(found: Sequence[TopicDetails]) -> str:
    return "\n\n".join(map(_details, found))


def _details(topic: TopicDetails) -> str:
    configs = [f"  {name}={value}" for name, value in topic.configs.items()]
    rows = [(one.partition, one.leader, one.start, one.end, one.end - one.start) for one in topic.partitions]
    lines = [f"topic {topic.name}, id {topic.id}", *configs, *(f"  {line}" for line in table(_COLUMNS, rows))]
    return "\n".join(lines)
