"""Idempotent producers that never give up, and what they were told."""

import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

_TOPIC = "chaos"
_PARTITIONS = 2


@dataclass(slots=True)
class Told:
    """Offsets by what was sent; what is not here was not acknowledged."""

    sent: set[str] = field(default_factory=set)
    acknowledged: dict[str, tuple[int, int]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def delivered(self, error: KafkaError | None, message: Message) -> None:
        value = message.value()
        assert value is not None
        name = bytes(value).decode()
        if error is not None:
            self.errors.append(f"{name}: {error}")
            return
        partition, offset = message.partition(), message.offset()
        assert partition is not None
        assert offset is not None
        self.acknowledged[name] = (partition, offset)


class SteadyProducer(threading.Thread):
    """Sends numbered records to every partition until it is told to stop, then waits for all of them."""

    def __init__(self, name: str, bootstrap: str) -> None:
        super().__init__(name=name, daemon=True)
        self.told = Told()
        self._stopping = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 2,
                "message.timeout.ms": 120_000,
                "topic.metadata.refresh.interval.ms": 1_000,
                "reconnect.backoff.max.ms": 500,
                "retry.backoff.ms": 50,
                "log_level": 0,
            }
        )

    def finish(self) -> Told:
        self._stopping.set()
        self.join(150)
        assert not self.is_alive(), f"{self.name} is still waiting for answers"
        return self.told

    def run(self) -> None:
        number = 0
        while not self._stopping.is_set():
            for partition in range(_PARTITIONS):
                name = f"{self.name}/{partition}/{number}"
                self.told.sent.add(name)
                self._producer.produce(
                    _TOPIC, name.encode(), partition=partition, on_delivery=self.told.delivered
                )
            number += 1
            self._producer.poll(0)
            time.sleep(0.002)  # a rate, not a wait for something
        self._producer.flush(120)


def make_topic(bootstrap: str) -> None:
    """Have the topic made, with its partitions, by Kafka's own way of asking."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(_TOPIC, num_partitions=_PARTITIONS)]).values():
        made.result(30)


def read_everything(bootstrap: str) -> dict[int, list[tuple[int, str]]]:
    """Read all partitions from their beginning to their present end."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False})
    found: dict[int, list[tuple[int, str]]] = defaultdict(list)
    try:
        for number in range(_PARTITIONS):
            partition = TopicPartition(_TOPIC, number, 0)
            _, end = consumer.get_watermark_offsets(partition, timeout=30)
            consumer.assign([partition])
            while len(found[number]) < end:
                for message in consumer.consume(1_000, timeout=10.0):
                    assert message.error() is None, message.error()
                    value, offset = message.value(), message.offset()
                    assert value is not None
                    assert offset is not None
                    found[number].append((offset, bytes(value).decode()))
    finally:
        consumer.close()
    return found
