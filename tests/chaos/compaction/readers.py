"""Readers that run all the while: one at the end of the log, one that reads all of it again and again.

The first sees records before they are compacted, the second mostly afterwards and while that happens; both
must see the same. The last look, when everything is over, is here too.
"""

import threading
import time
from collections.abc import Iterator
from typing import cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tests.chaos.compaction.contents import content, name_of
from tests.chaos.compaction.seen import Seen
from tests.chaos.producers import PARTITIONS, TOPIC

_READ_S = 300.0
_ASK_S = 5.0
_GONE = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)


class Unreadable(Exception):
    """Not everything could be read, or not in time."""


class BeginningMoved(Exception):
    """What was to be read next has been deleted meanwhile."""


class Follower(threading.Thread):
    """Reads all partitions from their beginning for as long as it is let."""

    def __init__(self, bootstrap: str, seen: Seen) -> None:
        super().__init__(name="follower", daemon=True)
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
                        told = f"{offset} of partition {partition} where {expected[partition]} was to be"
                        self._seen.complain(f"dense: the follower was given {told}")
                    expected[partition] = offset + 1
                    self._seen.add(self.name, partition, offset, name)
        except (Unreadable, BeginningMoved) as error:
            self._seen.complain(f"readable: the follower was stopped: {error!r}")
        finally:
            consumer.close()


class Rereader(threading.Thread):
    """Reads one partition after the other, from its present beginning to its present end, for ever."""

    def __init__(self, bootstrap: str, seen: Seen) -> None:
        super().__init__(name="rereader", daemon=True)
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
        except Unreadable as error:
            self._seen.complain(f"readable: the rereader was stopped: {error!r}")
        finally:
            consumer.close()

    def _pass(self, consumer: Consumer) -> None:
        for partition in range(PARTITIONS):
            try:
                for offset, name in read_partition(consumer, partition, self.stopping):
                    self._seen.add(self.name, partition, offset, name)
            except BeginningMoved:
                continue
        self.passes += 1


def read_everything(bootstrap: str) -> dict[int, list[tuple[int, str]]]:
    """Read all partitions from their present beginning to their present end."""
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
    """Read a partition in order; raises `Unreadable`, also when an offset is missing."""
    deadline = time.monotonic() + _READ_S
    at, end = _bounds(consumer, partition, stopping, deadline)
    consumer.assign([TopicPartition(TOPIC, partition, at)])
    while at < end and not stopping.is_set():
        if time.monotonic() > deadline:
            raise Unreadable(f"partition {partition} was read to {at} of {end}")
        for message in consumer.consume(1_000, timeout=0.5):
            _, offset, name = read(message)
            if offset != at:
                raise Unreadable(f"partition {partition} has {offset} where {at} should be")
            at = offset + 1
            yield offset, name


def read(message: Message) -> tuple[int, int, str]:
    """Return partition, offset and name of a record."""
    error = message.error()
    if error is not None:
        told = f"partition {message.partition()}: {error}"
        raise BeginningMoved(told) if error.code() in _GONE else Unreadable(told)
    partition, offset = message.partition(), message.offset()
    assert partition is not None
    assert offset is not None
    headers = cast("list[tuple[str, bytes | None]] | None", message.headers())
    record = content(message.key(), message.value(), headers, message.timestamp()[1])
    return partition, offset, name_of(record)


def _bounds(
    consumer: Consumer, partition: int, stopping: threading.Event, deadline: float
) -> tuple[int, int]:
    """Where a partition begins and ends now; a broker just gone may still be named its leader for a while."""
    while not stopping.is_set():
        try:
            start, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, partition), timeout=_ASK_S)
        except KafkaException as error:
            if time.monotonic() > deadline:
                raise Unreadable(f"partition {partition} has no bounds: {error}") from error
        else:
            return start, end
    return 0, 0


def _consumer(bootstrap: str) -> Consumer:
    """One that checks what it is given and never skips: an offset out of range is an error."""
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
