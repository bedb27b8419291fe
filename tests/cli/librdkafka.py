"""Records written and read by librdkafka directly, without the commands."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from dray.testing.broker import EmbeddedBroker

WAIT_S = 30.0
Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, slots=True)
class Record:
    """A record as librdkafka returns it."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int = 0
    timestamp: int | None = None


def write(kafka: EmbeddedBroker, topic: str, records: Sequence[Record], codec: str = "none") -> None:
    """Write records, each to its partition."""
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


def read(kafka: EmbeddedBroker, topic: str, count: int, partitions: int = 1) -> list[Record]:
    """Read this many records from the start, and assert that no more follow."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": "not-used",
            "enable.auto.commit": False,
        }
    )
    try:
        # It then knows the leaders, which it would otherwise look up after half a second.
        ends = [consumer.get_watermark_offsets(TopicPartition(topic, one))[1] for one in range(partitions)]
        assert sum(ends) == count
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(partitions)])
        return [_next(consumer) for _ in range(count)]
    finally:
        consumer.close()


def _next(consumer: Consumer) -> Record:
    message = consumer.poll(WAIT_S)
    assert message is not None
    assert message.error() is None, message.error()
    headers = cast("list[tuple[str, bytes | None]]", message.headers() or [])
    return Record(
        message.key(),
        message.value(),
        tuple(headers),
        message.partition() or 0,
        message.timestamp()[1],
    )


def delete_before(kafka: EmbeddedBroker, topic: str, offset: int) -> None:
    """Delete the records of partition 0 before an offset."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for outcome in admin.delete_records([TopicPartition(topic, 0, offset)]).values():
        outcome.result(WAIT_S)
