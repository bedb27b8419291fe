"""Member of the group: a librdkafka consumer in its own thread.

It commits what it has read shortly afterwards, and before a partition is revoked. A commit may fail while
brokers are down; its offsets then stay pending for as long as the member owns the partition. If the partition
is revoked first, the next owner reads those records again.
"""

import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tests.chaos.groups.histories import Assigned, CommitRequested, Committed, GroupHistory, Read
from tests.chaos.histories import name_of
from tests.chaos.producers import IMPATIENT

Protocol = Literal["classic", "consumer"]
SESSION_S = 6.0
"""Kafka's default for group.min.session.timeout.ms, which limits classic groups."""
HEARTBEAT_S = 1.0
_COMMIT_EVERY_S = 0.25
_LEAVE_S = 90.0


@dataclass(frozen=True, slots=True)
class Group:
    """Settings shared by all members."""

    name: str
    topic: str
    protocol: Protocol
    bootstrap: str
    patience: Mapping[str, str | int] = field(default_factory=lambda: IMPATIENT)

    def settings(self, client_id: str) -> dict[str, str | int | float | bool]:
        chosen: dict[str, str | int | float | bool] = {
            "bootstrap.servers": self.bootstrap,
            "client.id": client_id,
            "group.id": self.name,
            "group.protocol": self.protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "coordinator.query.interval.ms": 1_000,  # return to its zone's broker once it is up
            "log_level": 0,
            **self.patience,
        }
        if self.protocol == "consumer":  # the broker decides; librdkafka rejects these settings
            return chosen
        session = {
            "session.timeout.ms": int(SESSION_S * 1000),
            "heartbeat.interval.ms": int(HEARTBEAT_S * 1000),
        }
        return chosen | session


class Member(threading.Thread):
    """Reads until `leaving` is set."""

    def __init__(self, name: str, zone: str, group: Group, history: GroupHistory) -> None:
        super().__init__(name=name, daemon=True)
        self.zone = zone
        """If empty, the client names no zone and metadata lists all brokers."""
        self.client_id = f"{name},zone_id={zone}"
        self.leaving = threading.Event()
        self.client_errors: Counter[str] = Counter()
        """Retriable errors reported while brokers were down."""
        self._topic = group.topic
        self._history = history
        self._pending: dict[int, int] = {}
        self._committed_at = 0.0
        self._consumer = Consumer(group.settings(self.client_id))

    def finish(self) -> None:
        """Wait until it has left the group; `leaving` must be set."""
        assert self.leaving.is_set()
        self.join(_LEAVE_S)
        assert not self.is_alive(), f"{self.name} has not left after {_LEAVE_S} s"

    def run(self) -> None:
        self._consumer.subscribe(
            [self._topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )
        try:
            while not self.leaving.is_set():
                self._step()
            self._commit()
            self._consumer.close()  # revokes its partitions and leaves the group
        except KafkaException as error:
            self._history.failures.append(f"{self.name} failed: {error}")

    def _step(self) -> None:
        message = self._consumer.poll(0.1)
        if message is not None:
            self._take(message)
        if time.monotonic() >= self._committed_at + _COMMIT_EVERY_S:
            self._commit()

    def _take(self, message: Message) -> None:
        error = message.error()
        if error is not None:
            self._record_error(error)
            return
        partition, offset, value = message.partition(), message.offset(), message.value()
        assert partition is not None
        assert offset is not None
        assert value is not None
        self._history.add(Read(self.name, partition, offset, name_of(bytes(value)), time.monotonic()))
        self._pending[partition] = offset + 1

    def _commit(self) -> None:
        requested_at = time.monotonic()
        self._committed_at = requested_at
        if not self._pending:
            return
        for partition, offset in self._pending.items():
            self._history.add(CommitRequested(self.name, partition, offset, requested_at))
        wanted = [TopicPartition(self._topic, number, at) for number, at in self._pending.items()]
        try:
            done = self._consumer.commit(offsets=wanted, asynchronous=False)
        except KafkaException as failure:
            self._record_error(failure.args[0])
            return
        for one in done or ():
            self._confirm(one, requested_at)

    def _confirm(self, one: TopicPartition, requested_at: float) -> None:
        if one.error is not None:
            self._record_error(one.error)
            return
        self._history.add(Committed(self.name, one.partition, one.offset, requested_at, time.monotonic()))
        del self._pending[one.partition]

    def _record_error(self, error: KafkaError) -> None:
        if error.fatal():
            raise KafkaException(error)
        self.client_errors[error.name()] += 1

    def _assigned(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        for one in partitions:
            self._history.add(Assigned(self.name, one.partition, time.monotonic()))

    def _revoked(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self._commit()
        self._drop(partitions)

    def _lost(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        """Other members own them already, and their commits must not be overwritten."""
        self._drop(partitions)

    def _drop(self, partitions: list[TopicPartition]) -> None:
        for one in partitions:
            self._pending.pop(one.partition, None)
