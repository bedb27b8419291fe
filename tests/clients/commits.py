"""Committed offsets of a group, read and set from outside of it."""

import time
from typing import Final

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

Place = tuple[str, int]
"""A topic and a partition."""

_ANSWER_S: Final = 30.0
_COORDINATOR_S: Final = 30.0
_SETTLING: Final = {14, 15, 16}  # the coordinator loads, is not available yet, is another


def committed(admin: AdminClient, group: str) -> dict[Place, int]:
    found = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
    places = found[group].result(_ANSWER_S).topic_partitions
    return {(place.topic, place.partition): place.offset for place in places}


def positions(bootstrap: str, group: str) -> dict[int, int]:
    """Return the offsets by partition, of a group that reads a single topic."""
    found = committed(AdminClient({"bootstrap.servers": bootstrap}), group)
    return {partition: offset for (_, partition), offset in found.items()}


def commit(bootstrap: str, group: str, place: TopicPartition) -> None:
    """Commit without being a member; retries while a broker that has just started has no coordinator."""
    deadline = time.monotonic() + _COORDINATOR_S
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    try:
        while not _taken(consumer, place):
            assert time.monotonic() < deadline, f"no coordinator for {group} after {_COORDINATOR_S} s"
    finally:
        consumer.close()


def _taken(consumer: Consumer, place: TopicPartition) -> bool:
    try:
        consumer.commit(offsets=[place], asynchronous=False)
    except KafkaException as failed:
        if failed.args[0].code() not in _SETTLING:
            raise
        return False
    return True
