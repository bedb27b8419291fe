"""Outside view of an application: its topics, their contents, and its group's committed offsets."""

import time
from collections.abc import Callable
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    ResourceType,
)

from tests.clients.commits import Place, committed

WAIT_S: Final = 60.0


class Outside:
    def __init__(self, bootstrap: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap})
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none"})

    def close(self) -> None:
        self._consumer.close()

    def topics(self, prefix: str) -> set[str]:
        return {topic for topic in self._admin.list_topics(timeout=WAIT_S).topics if topic.startswith(prefix)}

    def config(self, topic: str, name: str) -> str:
        asked = ConfigResource(ResourceType.TOPIC, topic)
        return str(self._admin.describe_configs([asked])[asked].result(WAIT_S)[name].value)

    def await_processed(self, group: str, topic: str) -> None:
        """Wait until the group has committed all records now in the topic."""
        ends = {place: end for place, (_, end) in self.bounds(topic).items() if end}
        self._wait(
            lambda: ends.items() <= committed(self._admin, group).items(), f"{group} to process {topic}"
        )

    def await_purged(self, topic: str) -> None:
        """Wait until the topic is empty."""
        self._wait(
            lambda: all(first == end for first, end in self.bounds(topic).values()), f"{topic} to be purged"
        )

    def counts(self, topic: str) -> dict[str, int]:
        """Return the last count of each word."""
        ends = {place: end for place, (first, end) in self.bounds(topic).items() if first < end}
        self._consumer.assign([TopicPartition(*place, OFFSET_BEGINNING) for place in ends])
        counts: dict[str, int] = {}
        while ends:
            message = self._consumer.poll(WAIT_S)
            assert message is not None, f"nothing more of {topic} after {WAIT_S} s; missing: {ends}"
            assert message.error() is None, message.error()
            counts[(message.key() or b"").decode()] = int.from_bytes(message.value() or b"", "big")
            place = (topic, message.partition() or 0)
            if (message.offset() or 0) + 1 == ends[place]:
                del ends[place]
        return counts

    def bounds(self, topic: str) -> dict[Place, tuple[int, int]]:
        """Return the first and the end offset of each partition."""
        numbers = self._admin.list_topics(topic, WAIT_S).topics[topic].partitions
        places = [TopicPartition(topic, number) for number in numbers]
        return {
            (topic, place.partition): self._consumer.get_watermark_offsets(place, WAIT_S, cached=False)
            for place in places
        }

    def _wait(self, what: Callable[[], bool], name: str) -> None:
        """Poll without sleeping: every check is a request to the broker."""
        deadline = time.monotonic() + WAIT_S
        while not what():
            assert time.monotonic() < deadline, f"timed out waiting for {name}"
