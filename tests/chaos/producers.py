"""Idempotent producers that never give up, and what they were told."""

import threading
import time

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.chaos.histories import Place, Told, name_of, value_of

TOPIC = "chaos"
PARTITIONS = 3
_PATIENCE_S = 120


class SteadyProducer(threading.Thread):
    """Sends numbered records to every partition until it is told to stop, then waits for all of them."""

    def __init__(self, name: str, bootstrap: str, *, zone: str) -> None:
        super().__init__(name=name, daemon=True)
        self._told = Told()
        self.stopping = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "client.id": f"{name},zone_id={zone}",
                "enable.idempotence": True,
                "linger.ms": 2,
                "message.timeout.ms": _PATIENCE_S * 1000,
                "socket.timeout.ms": 3_000,  # shorter than a long stall: the rest is sent to another broker
                "topic.metadata.refresh.interval.ms": 500,
                "reconnect.backoff.max.ms": 500,
                "retry.backoff.ms": 50,
                "log_level": 0,
            }
        )

    def finish(self) -> Told:
        """Wait until it has stopped by itself, having been told to."""
        assert self.stopping.is_set()
        self.join(_PATIENCE_S + 30)
        assert not self.is_alive(), f"{self.name} is still waiting for answers"
        return self._told

    def run(self) -> None:
        try:
            self._send_all()
        # The client raises a fatal error wherever it is, also into a callback (then as a SystemError).
        except (KafkaException, SystemError) as error:
            self._told.errors.append(f"{self.name} gave up: {error!r}")

    def _send_all(self) -> None:
        number = 0
        while not self.stopping.is_set():
            for partition in range(PARTITIONS):
                self._send(f"{self.name}/{partition}/{number}", partition)
            number += 1
            self._producer.poll(0)
            time.sleep(0.004)  # a rate, not a wait for something
        self._producer.flush(_PATIENCE_S)

    def _send(self, name: str, partition: int) -> None:
        self._told.sent[name] = time.monotonic()
        try:
            self._producer.produce(TOPIC, value_of(name), partition=partition, on_delivery=self._delivered)
        except BufferError:  # brokers were away for long
            del self._told.sent[name]
            self._producer.poll(0.1)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        value, partition, offset = message.value(), message.partition(), message.offset()
        assert value is not None
        name = name_of(bytes(value))
        if error is not None:
            self._told.errors.append(f"{name} was not taken: {error}")
            return
        assert partition is not None
        assert offset is not None
        self._told.acknowledged[name] = Place(partition, offset, time.monotonic())


def make_topic(bootstrap: str) -> None:
    """Have the topic made, with its partitions, by Kafka's own way of asking."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(TOPIC, num_partitions=PARTITIONS)]).values():
        made.result(30)
