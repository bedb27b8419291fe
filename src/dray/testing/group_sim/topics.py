"""The one topic of a simulated cluster; it may grow."""

from collections.abc import Iterable
from typing import Final

from dray.groups.topics import TopicSeen

TOPIC: Final = "t"
TOPIC_ID: Final = b"sixteen bytes ..".ljust(16)[:16]


class OneTopic:
    """A `TopicImage`. All brokers see it change at the same moment."""

    def __init__(self, partitions: int) -> None:
        self.version = 1
        self._partitions = partitions

    @property
    def partitions(self) -> int:
        return self._partitions

    def grow(self, more: int) -> None:
        self._partitions += more
        self.version += 1

    def find(self, name: str) -> TopicSeen | None:
        return TopicSeen(TOPIC, TOPIC_ID, self._partitions) if name == TOPIC else None

    def find_id(self, topic_id: bytes) -> TopicSeen | None:
        return self.find(TOPIC) if topic_id == TOPIC_ID else None

    def names(self) -> Iterable[str]:
        return (TOPIC,)
