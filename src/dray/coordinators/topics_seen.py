"""The cluster's topics, as groups see them."""

from collections.abc import Iterable

from dray.cluster.topics import Topic, Topics
from dray.groups.topics import TopicSeen


class TopicsSeen:
    """A `TopicImage` of the topics as this broker knows them now."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics

    @property
    def version(self) -> int:
        return self._topics.version

    def find(self, name: str) -> TopicSeen | None:
        return _seen(self._topics.find(name))

    def find_id(self, topic_id: bytes) -> TopicSeen | None:
        return _seen(self._topics.find_id(topic_id))

    def names(self) -> Iterable[str]:
        return (topic.name for topic in self._topics.all())


def _seen(topic: Topic | None) -> TopicSeen | None:
    return None if topic is None else TopicSeen(topic.name, topic.topic_id, len(topic.streams))
