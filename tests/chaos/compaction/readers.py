"""Consumers that run during the faults: one tails the log, one reads all of it repeatedly.

The first sees records before they are compacted, the second mostly afterwards or meanwhile; both must see the
same records. The final read of each broker is here too.
"""

import threading
import time
from collections.abc import Iterator
from typing import cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tests.chaos.compaction.contents import content, name_of
from tests.chaos.compaction.observations import Observations
from tests.chaos.producers import PARTITIONS, TOPIC

_READ_S = 300.0
_REQUEST_S = 5.0
_OUT_OF_RANGE = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)


class ReadError(Exception):
    """A partition could not be read to its end in time."""


class LogStartMoved(Exception):
    """The next records to read were deleted in the meantime."""


class TailingConsumer(threading.Thread):
    """Reads all partitions from the beginning until `stopping` is set."""

    def __init__(self, bootstrap: str, seen: Observations) -> None:
        super().__init__(name="tailing consumer", daemon=True)
        self._servers = bootstrap
        self._seen = seen
        self.stopping = threading.Event()

    def run(self) -> None:
        consumer = _consumer(self._servers)
        consumer.assign([TopicPartition(TOPIC, number, 0) for number in range(PARTITIONS)])
        expected = dict.fromkeys(range(PARTITIONS), 0)
        try:
            while not self.stopping.is_set():
                for message in consumer.consume(1_000, timeout=0.2):
                    partition, offset, name = read(message)
                    if offset != expected[partition]:
                        where = f"partition {partition} at {expected[partition]}"
                        self._seen.report(f"dense: the tailing consumer got {offset} of {where}")
                    expected[partition] = offset + 1
                    self._seen.add(self.name, partition, offset, name)
        except (ReadError, LogStartMoved) as error:
            self._seen.report(f"readable: the tailing consumer failed: {error!r}")
        finally:
            consumer.close()


class RereadingConsumer(threading.Thread):
    """Reads each partition from its current start to its current end, until `stopping` is set."""

    def __init__(self, bootstrap: str, seen: Observations) -> None:
        super().__init__(name="rereading consumer", daemon=True)
        self._servers = bootstrap
        self._seen = seen
        self.stopping = threading.Event()
        self.passes = 0

    def run(self) -> None:
        consumer = _consumer(self._servers)
        try:
            while not self.stopping.is_set():
                self._pass(consumer)
                time.sleep(4)  # a rate, not a wait for something
        except ReadError as error:
            self._seen.report(f"readable: the rereading consumer failed: {error!r}")
        finally:
            consumer.close()

    def _pass(self, consumer: Consumer) -> None:
        for partition in range(PARTITIONS):
            try:
                for offset, name in read_partition(consumer, partition, self.stopping):
                    self._seen.add(self.name, partition, offset, name)
            except LogStartMoved:
                continue
        self.passes += 1


def read_everything(bootstrap: str) -> dict[int, list[tuple[int, str]]]:
    """Read all partitions from their current start to their current end."""
    consumer = _consumer(bootstrap)
    try:
        return {
            number: list(read_partition(consumer, number, threading.Event())) for number in range(PARTITIONS)
        }
    finally:
        consumer.close()


def read_partition(
    consumer: Consumer, partition: int, stopping: threading.Event
) -> Iterator[tuple[int, str]]:
    """Read a partition in order; raises `ReadError`, also for a missing offset."""
    deadline = time.monotonic() + _READ_S
    at, end = _bounds(consumer, partition, stopping, deadline)
    consumer.assign([TopicPartition(TOPIC, partition, at)])
    while at < end and not stopping.is_set():
        if time.monotonic() > deadline:
            raise ReadError(f"partition {partition} was read to {at} of {end}")
        for message in consumer.consume(1_000, timeout=0.5):
            _, offset, name = read(message)
            if offset != at:
                raise ReadError(f"partition {partition} has {offset} where {at} should be")
            at = offset + 1
            yield offset, name


def read(message: Message) -> tuple[int, int, str]:
    """Return partition, offset and name of a record."""
    error = message.error()
    if error is not None:
        reason = f"partition {message.partition()}: {error}"
        raise LogStartMoved(reason) if error.code() in _OUT_OF_RANGE else ReadError(reason)
    partition, offset = message.partition(), message.offset()
    assert partition is not None
    assert offset is not None
    headers = cast("list[tuple[str, bytes | None]] | None", message.headers())
    record = content(message.key(), message.value(), headers, message.timestamp()[1])
    return partition, offset, name_of(record)


def _bounds(
    consumer: Consumer, partition: int, stopping: threading.Event, deadline: float
) -> tuple[int, int]:
    """Return a partition's current bounds; retries while metadata names a dead broker as the leader."""
    while not stopping.is_set():
        try:
            start, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, partition), timeout=_REQUEST_S)
        except KafkaException as error:
            if time.monotonic() > deadline:
                raise ReadError(f"partition {partition} has no bounds: {error}") from error
        else:
            return start, end
    return 0, 0


def _consumer(bootstrap: str) -> Consumer:
    """Verify checksums and never skip: an offset out of range is an error."""
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "none",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "check.crcs": True,
            "socket.timeout.ms": 3_000,
            "topic.metadata.refresh.interval.ms": 500,
            "reconnect.backoff.max.ms": 500,
            "log_level": 0,
        }
    )
