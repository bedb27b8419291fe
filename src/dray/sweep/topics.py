"""How long streams are kept, by the configs of their topics."""

from dray.cluster.topics import Topics
from dray.ids import StreamId
from dray.sweep.plan import RetentionPolicy

_KEEP_EVERYTHING = RetentionPolicy()


class TopicPolicies:
    """The policy of each stream, as its topic was at the last look. What has no topic is kept."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._policies: dict[StreamId, RetentionPolicy] = {}

    def look(self) -> None:
        """Take over the topics' present configs."""
        self._policies = {
            stream: RetentionPolicy(
                topic.config.whole("retention.ms"),
                topic.config.whole("retention.bytes"),
                topic.config.is_compacted,
            )
            for topic in self._topics.all()
            if topic.config.is_deleted
            for stream in topic.streams
        }

    def of(self, stream: StreamId) -> RetentionPolicy:
        return self._policies.get(stream, _KEEP_EVERYTHING)
