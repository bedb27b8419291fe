"""Consumers that check what they read: one tails the topic during the faults, one reads it all afterwards."""

import threading
import time
from collections import defaultdict
from collections.abc import Mapping

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from tests.chaos.histories import Records, name_of
from tests.chaos.producers import IMPATIENT, PARTITIONS, TOPIC

_READ_S = 120.0


class ReadError(Exception):
    """A partition could not be read to its end in time."""


class TailingConsumer(threading.Thread):
    """Reads all partitions from the beginning until `stopping` is set."""

    def __init__(self, bootstrap: str, settings: Mapping[str, str | int] = IMPATIENT) -> None:
        super().__init__(name="tailing consumer", daemon=True)
        self._consumer = _consumer(bootstrap, settings)
        self.stopping = threading.Event()
        self._seen: dict[int, list[tuple[int, str]]] = defaultdict(list)
        self.errors: list[str] = []

    def finish(self) -> Records:
        """Wait until it has stopped; `stopping` must be set."""
        assert self.stopping.is_set()
        self.join(30)
        assert not self.is_alive(), "the tailing consumer did not stop"
        return self._seen

    def run(self) -> None:
        self._consumer.assign([TopicPartition(TOPIC, number, 0) for number in range(PARTITIONS)])
        try:
            while not self.stopping.is_set():
                self._read()
        except ReadError as error:
            self.errors.append(f"stable: the tailing consumer failed: {error}")
        finally:
            self._consumer.close()

    def _read(self) -> None:
        for message in self._consumer.consume(1_000, timeout=0.2):
            partition, offset, name = _checked(message)
            self._seen[partition].append((offset, name))


def read_everything(bootstrap: str) -> Records:
    """Read all partitions from the beginning to the current end."""
    consumer = _consumer(bootstrap)
    try:
        return {number: _read(consumer, number) for number in range(PARTITIONS)}
    finally:
        consumer.close()


def _read(consumer: Consumer, number: int) -> list[tuple[int, str]]:
    deadline = time.monotonic() + _READ_S
    end = _end(consumer, number, deadline)
    consumer.assign([TopicPartition(TOPIC, number, 0)])
    found: list[tuple[int, str]] = []
    while len(found) < end:
        if time.monotonic() > deadline:
            raise ReadError(f"partition {number} was read to {len(found)} of {end}")
        for message in consumer.consume(1_000, timeout=1.0):
            _, offset, name = _checked(message)
            found.append((offset, name))
    return found


def _end(consumer: Consumer, number: int, deadline: float) -> int:
    """Return the current end offset, retrying while metadata still names a dead broker as the leader."""
    while True:
        try:
            end: int = consumer.get_watermark_offsets(TopicPartition(TOPIC, number), timeout=5)[1]
        except KafkaException as error:
            if time.monotonic() > deadline:
                raise ReadError(f"partition {number} has no known end offset: {error}") from error
        else:
            return end


def _consumer(bootstrap: str, settings: Mapping[str, str | int] = IMPATIENT) -> Consumer:
    """Verify checksums and never skip: an offset out of range is an error."""
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "none",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "check.crcs": True,
            "log_level": 0,
            **settings,
        }
    )


def _checked(message: Message) -> tuple[int, int, str]:
    error = message.error()
    if error is not None:
        raise ReadError(f"partition {message.partition()}: {error}")
    value, partition, offset = message.value(), message.partition(), message.offset()
    assert value is not None
    assert partition is not None
    assert offset is not None
    return partition, offset, name_of(bytes(value))
