"""Retention policies of streams, from the configs of their topics."""

from types import SimpleNamespace
from typing import cast

from dray.cluster.topics import Topic, TopicCatalog
from dray.ids import StreamId
from dray.sweep import RetentionPolicy, TopicPolicies


def _topic(name: str, stream: int, configs: dict[str, str]) -> Topic:
    return Topic(name, bytes(16), (StreamId(stream),), configs, 0)


def test_streams_are_retained_by_the_configs_of_their_topics() -> None:
    topics = [
        _topic("usual", 1, {}),
        _topic("short", 2, {"retention.ms": "5", "retention.bytes": "7"}),
        _topic("compacted", 3, {"cleanup.policy": "compact", "retention.ms": "5"}),
        _topic("both", 4, {"cleanup.policy": "compact,delete", "retention.ms": "6"}),
    ]
    policies = TopicPolicies(cast("TopicCatalog", SimpleNamespace(all=lambda: topics)))
    assert policies.of(StreamId(2)) == RetentionPolicy(), "nothing expires before the first refresh"
    policies.refresh()
    assert policies.of(StreamId(1)) == RetentionPolicy(604_800_000, -1)
    assert policies.of(StreamId(2)) == RetentionPolicy(5, 7)
    assert policies.of(StreamId(3)) == RetentionPolicy()
    assert policies.of(StreamId(4)) == RetentionPolicy(6, -1, is_compacted=True)
    assert policies.of(StreamId(99)) == RetentionPolicy(), "a stream without a topic is kept"
    topics.pop(1)
    policies.refresh()
    assert policies.of(StreamId(2)) == RetentionPolicy()
