"""Idempotent producers that retry until acknowledged, and their histories."""

import threading
import time
from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.chaos.histories import Ack, ProducerHistory, name_of, value_of

TOPIC = "chaos"
PARTITIONS = 3
_TIMEOUT_S = 120
IMPATIENT: Mapping[str, str | int] = {
    "socket.timeout.ms": 3_000,  # shorter than a long stall: other brokers get the rest
    "topic.metadata.refresh.interval.ms": 500,
    "reconnect.backoff.max.ms": 500,
}
"""Settings with which clients soon notice that a broker was killed or paused."""


class SteadyProducer(threading.Thread):
    """Sends numbered records to every partition until `stopping` is set, then flushes."""

    def __init__(
        self,
        name: str,
        bootstrap: str,
        *,
        zone: str,
        topic: str = TOPIC,
        partitions: int = PARTITIONS,
        pause_s: float = 0.004,
        settings: Mapping[str, str | int] = IMPATIENT,
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._topic = topic
        self._partitions = partitions
        self._pause_s = pause_s
        self._history = ProducerHistory()
        self.stopping = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "client.id": f"{name},zone_id={zone}",
                "enable.idempotence": True,
                "linger.ms": 2,
                "message.timeout.ms": _TIMEOUT_S * 1000,
                "retry.backoff.ms": 50,
                "log_level": 0,
                **settings,
            }
        )

    @property
    def history(self) -> ProducerHistory:
        """What was sent and acknowledged so far; it still grows."""
        return self._history

    def finish(self) -> ProducerHistory:
        """Wait until it has flushed and stopped; `stopping` must be set."""
        assert self.stopping.is_set()
        self.join(_TIMEOUT_S + 30)
        assert not self.is_alive(), f"{self.name} is still waiting for acknowledgements"
        return self._history

    def run(self) -> None:
        try:
            self._send_all()
        # The client raises a fatal error from any call, in a callback as a SystemError.
        except (KafkaException, SystemError) as error:
            self._history.errors.append(f"{self.name} stopped on a fatal error: {error!r}")

    def _send_all(self) -> None:
        number = 0
        while not self.stopping.is_set():
            for partition in range(self._partitions):
                self._send(f"{self.name}/{partition}/{number}", partition)
            number += 1
            self._producer.poll(0)
            time.sleep(self._pause_s)  # a rate, not a wait for something
        self._producer.flush(_TIMEOUT_S)

    def _send(self, name: str, partition: int) -> None:
        self._history.sent[name] = time.monotonic()
        try:
            self._producer.produce(
                self._topic, value_of(name), partition=partition, on_delivery=self._delivered
            )
        except BufferError:  # the local queue is full: brokers were down for long
            del self._history.sent[name]
            self._producer.poll(0.1)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        value, partition, offset = message.value(), message.partition(), message.offset()
        assert value is not None
        name = name_of(bytes(value))
        if error is not None:
            self._history.errors.append(f"{name} was rejected: {error}")
            return
        assert partition is not None
        assert offset is not None
        self._history.acknowledged[name] = Ack(partition, offset, time.monotonic())


def make_topic(bootstrap: str) -> None:
    """Create the topic and its partitions with CreateTopics."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for created in admin.create_topics([NewTopic(TOPIC, num_partitions=PARTITIONS)]).values():
        created.result(30)
