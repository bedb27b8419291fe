"""A client that is not ours, to write what we read and to read what we write."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from dray.testing.broker import EmbeddedBroker

WAIT_S = 30.0
Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """A record as librdkafka has it."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int = 0
    timestamp: int | None = None


def write(kafka: EmbeddedBroker, topic: str, records: Sequence[Seen], codec: str = "none") -> None:
    """Write records, each to its own partition."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "compression.type": codec})
    failures: list[object] = []
    for record in records:
        producer.produce(
            topic,
            value=record.value,
            key=record.key,
            partition=record.partition,
            headers=list(record.headers),
            on_delivery=lambda error, _: failures.append(error),
            timestamp=record.timestamp or 0,
        )
    assert producer.flush(WAIT_S) == 0
    assert failures == [None] * len(records)


def partitions_chosen(
    kafka: EmbeddedBroker, topic: str, keys: Sequence[bytes]
) -> dict[bytes | None, int | None]:
    """Write a record of each key with Java's partitioner, and tell where each went."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "partitioner": "murmur2_random"})
    chosen: dict[bytes | None, int | None] = {}
    for key in keys:
        producer.produce(
            topic, key=key, on_delivery=lambda _, told: chosen.update({told.key(): told.partition()})
        )
    assert producer.flush(WAIT_S) == 0
    return chosen


def read(kafka: EmbeddedBroker, topic: str, count: int, partitions: int = 1) -> list[Seen]:
    """Read that many records from the beginning, and make sure that no more follow."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": "not-used",
            "enable.auto.commit": False,
        }
    )
    try:
        # Asked first: it then knows the leaders, which it would otherwise look for again after half a second.
        ends = [consumer.get_watermark_offsets(TopicPartition(topic, one))[1] for one in range(partitions)]
        assert sum(ends) == count
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(partitions)])
        return [_seen(consumer) for _ in range(count)]
    finally:
        consumer.close()


def _seen(consumer: Consumer) -> Seen:
    message = consumer.poll(WAIT_S)
    assert message is not None
    assert message.error() is None, message.error()
    headers = cast("list[tuple[str, bytes | None]]", message.headers() or [])
    return Seen(
        message.key(),
        message.value(),
        tuple(headers),
        message.partition() or 0,
        message.timestamp()[1],
    )


def delete_before(kafka: EmbeddedBroker, topic: str, offset: int) -> None:
    """Give up the beginning of partition 0."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for outcome in admin.delete_records([TopicPartition(topic, 0, offset)]).values():
        outcome.result(WAIT_S)
