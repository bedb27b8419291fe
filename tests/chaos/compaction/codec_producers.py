"""Idempotent producers, one for each codec, that send records of every shape."""

import threading
import time
from functools import partial
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tests.chaos.compaction.contents import content_of
from tests.chaos.histories import Ack, ProducerHistory
from tests.chaos.producers import PARTITIONS, TOPIC

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
_TIMEOUT_S = 180
_INTERVAL_S = 0.2


class CodecProducer(threading.Thread):
    """Retries until acknowledged and runs until `stopping` is set; sends nothing while `paused` is set."""

    def __init__(self, codec: str, bootstrap: str) -> None:
        super().__init__(name=codec, daemon=True)
        self.history = ProducerHistory()
        self.stopping = threading.Event()
        self.paused = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "compression.type": codec,
                "enable.idempotence": True,
                "linger.ms": 20,
                "message.timeout.ms": _TIMEOUT_S * 1000,
                "socket.timeout.ms": 3_000,
                "topic.metadata.refresh.interval.ms": 500,
                "reconnect.backoff.max.ms": 500,
                "retry.backoff.ms": 50,
                "log_level": 0,
            }
        )

    @property
    def is_waiting(self) -> bool:
        """Whether a record that was sent has not been acknowledged yet."""
        return len(self.history.acknowledged) < len(self.history.sent)

    def finish(self) -> ProducerHistory:
        self.stopping.set()
        self.join(_TIMEOUT_S + 30)
        assert not self.is_alive(), f"{self.name} is still waiting for acknowledgements"
        return self.history

    def run(self) -> None:
        try:
            self._send_all()
        # The client raises a fatal error from any call, in a callback as a SystemError.
        except (KafkaException, SystemError) as error:
            self.history.errors.append(f"{self.name} stopped on a fatal error: {error!r}")

    def _send_all(self) -> None:
        number = 0
        while not self.stopping.is_set():
            if not self.paused.is_set():
                for partition in range(PARTITIONS):
                    self._send(f"{self.name}/{partition}/{number}", partition)
                    self._send(f"{self.name}/{partition}/{number + 1}", partition)
                number += 2
            self._producer.poll(0)
            time.sleep(_INTERVAL_S)  # a rate, not a wait for something
        self._producer.flush(_TIMEOUT_S)

    def _send(self, name: str, partition: int) -> None:
        record = content_of(name)
        self.history.sent[name] = time.monotonic()
        try:
            self._producer.produce(
                TOPIC,
                record.value,
                record.key,
                partition=partition,
                headers=list(record.headers),
                timestamp=record.timestamp_ms,
                on_delivery=partial(self._delivered, name),
            )
        except BufferError:  # the local queue is full: brokers were down for long
            del self.history.sent[name]
            self._producer.poll(0.1)

    def _delivered(self, name: str, error: KafkaError | None, message: Message) -> None:
        partition, offset = message.partition(), message.offset()
        if error is not None:
            self.history.errors.append(f"{name} was rejected: {error}")
            return
        assert partition is not None
        assert offset is not None
        self.history.acknowledged[name] = Ack(partition, offset, time.monotonic())
