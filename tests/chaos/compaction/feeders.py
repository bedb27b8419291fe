"""Producers, one for each codec, that send records of every shape until they are told to stop."""

import threading
import time
from functools import partial
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tests.chaos.compaction.contents import content_of
from tests.chaos.histories import Place, Told
from tests.chaos.producers import PARTITIONS, TOPIC

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
_PATIENCE_S = 180
_REST_S = 0.2


class Feeder(threading.Thread):
    """Idempotent, and never gives up; `resting` makes it send nothing for a while."""

    def __init__(self, codec: str, bootstrap: str) -> None:
        super().__init__(name=codec, daemon=True)
        self.told = Told()
        self.stopping = threading.Event()
        self.resting = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "compression.type": codec,
                "enable.idempotence": True,
                "linger.ms": 20,
                "message.timeout.ms": _PATIENCE_S * 1000,
                "socket.timeout.ms": 3_000,
                "topic.metadata.refresh.interval.ms": 500,
                "reconnect.backoff.max.ms": 500,
                "retry.backoff.ms": 50,
                "log_level": 0,
            }
        )

    @property
    def waits(self) -> bool:
        """Whether something that was sent has not been answered yet."""
        return len(self.told.acknowledged) < len(self.told.sent)

    def finish(self) -> Told:
        self.stopping.set()
        self.join(_PATIENCE_S + 30)
        assert not self.is_alive(), f"{self.name} is still waiting for answers"
        return self.told

    def run(self) -> None:
        try:
            self._send_all()
        # The client raises a fatal error wherever it is, also into a callback (then as a SystemError).
        except (KafkaException, SystemError) as error:
            self.told.errors.append(f"{self.name} gave up: {error!r}")

    def _send_all(self) -> None:
        number = 0
        while not self.stopping.is_set():
            if not self.resting.is_set():
                for partition in range(PARTITIONS):
                    self._send(f"{self.name}/{partition}/{number}", partition)
                    self._send(f"{self.name}/{partition}/{number + 1}", partition)
                number += 2
            self._producer.poll(0)
            time.sleep(_REST_S)  # a rate, not a wait for something
        self._producer.flush(_PATIENCE_S)

    def _send(self, name: str, partition: int) -> None:
        record = content_of(name)
        self.told.sent[name] = time.monotonic()
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
        except BufferError:  # brokers were away for long
            del self.told.sent[name]
            self._producer.poll(0.1)

    def _delivered(self, name: str, error: KafkaError | None, message: Message) -> None:
        partition, offset = message.partition(), message.offset()
        if error is not None:
            self.told.errors.append(f"{name} was not taken: {error}")
            return
        assert partition is not None
        assert offset is not None
        self.told.acknowledged[name] = Place(partition, offset, time.monotonic())
