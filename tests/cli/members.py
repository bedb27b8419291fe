"""Members of groups: librdkafka's consumers of both protocols."""

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, TopicPartition

from dray.testing.broker import EmbeddedBroker
from tests.cli.librdkafka import WAIT_S


def consumer(kafka: EmbeddedBroker, group: str, **more: str | int | bool) -> Consumer:
    settings: dict[str, str | int | float | bool] = {
        "bootstrap.servers": kafka.bootstrap,
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        **{name.replace("_", "."): value for name, value in more.items()},
    }
    return Consumer(settings)


@contextmanager
def member(
    kafka: EmbeddedBroker, group: str, topic: str, records: int, **more: str | int | bool
) -> Iterator[Consumer]:
    """A member that has joined, read this many records and committed them; it leaves at the end."""
    reading = consumer(kafka, group, **more)
    try:
        reading.subscribe([topic])
        assert len(reading.consume(records, WAIT_S)) == records
        reading.commit(asynchronous=False)
        yield reading
    finally:
        reading.close()


def committed(kafka: EmbeddedBroker, group: str, topic: str, partitions: int) -> list[int]:
    """Return the committed offsets by partition; -1001 for none."""
    asking = consumer(kafka, group)
    try:
        wanted = [TopicPartition(topic, number) for number in range(partitions)]
        return [one.offset for one in asking.committed(wanted, WAIT_S)]
    finally:
        asking.close()
