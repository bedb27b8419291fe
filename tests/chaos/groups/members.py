"""A member of the group: librdkafka's consumer in a thread of its own.

It reads, and commits what it has read a moment later, and before a partition is taken from it. While brokers
die a commit may fail. Then what it was about stays to be committed, for as long as the partition is the
member's; if that is taken away, whoever has it next reads the same again.
"""

import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tests.chaos.groups.histories import Asked, Begun, Committed, Ledger, Read
from tests.chaos.histories import name_of

Protocol = Literal["classic", "consumer"]
SESSION_S = 6.0
"""The shortest session that Kafka allows a classic group, unless told otherwise."""
HEARTBEAT_S = 1.0
_COMMIT_EVERY_S = 0.25
_LEAVE_S = 90.0


@dataclass(frozen=True, slots=True)
class Group:
    """What all members have in common."""

    name: str
    topic: str
    protocol: Protocol
    bootstrap: str

    def settings(self, client_id: str) -> dict[str, str | int | float | bool]:
        chosen: dict[str, str | int | float | bool] = {
            "bootstrap.servers": self.bootstrap,
            "client.id": client_id,
            "group.id": self.name,
            "group.protocol": self.protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "coordinator.query.interval.ms": 1_000,  # go back to the broker of its zone when that is back
            "topic.metadata.refresh.interval.ms": 500,
            "reconnect.backoff.max.ms": 500,
            "socket.timeout.ms": 3_000,
            "log_level": 0,
        }
        if self.protocol == "consumer":  # the broker says how long sessions are, and refuses to be told
            return chosen
        session = {
            "session.timeout.ms": int(SESSION_S * 1000),
            "heartbeat.interval.ms": int(HEARTBEAT_S * 1000),
        }
        return chosen | session


class Member(threading.Thread):
    """Reads until it is told to leave."""

    def __init__(self, name: str, zone: str, group: Group, ledger: Ledger) -> None:
        super().__init__(name=name, daemon=True)
        self.zone = zone
        """Empty: it names none, and is told of all brokers."""
        self.client_id = f"{name},zone_id={zone}"
        self.leaving = threading.Event()
        self.complaints: Counter[str] = Counter()
        """What was told of while brokers were away, and passed."""
        self._topic = group.topic
        self._ledger = ledger
        self._pending: dict[int, int] = {}
        self._committed_at = 0.0
        self._consumer = Consumer(group.settings(self.client_id))

    def finish(self) -> None:
        """Wait until it has left, having been told to."""
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
            self._consumer.close()  # gives up its partitions, and leaves
        except KafkaException as error:
            self._ledger.failures.append(f"{self.name} was ended: {error}")

    def _step(self) -> None:
        message = self._consumer.poll(0.1)
        if message is not None:
            self._take(message)
        if time.monotonic() >= self._committed_at + _COMMIT_EVERY_S:
            self._commit()

    def _take(self, message: Message) -> None:
        error = message.error()
        if error is not None:
            self._complain(error)
            return
        partition, offset, value = message.partition(), message.offset(), message.value()
        assert partition is not None
        assert offset is not None
        assert value is not None
        self._ledger.add(Read(self.name, partition, offset, name_of(bytes(value)), time.monotonic()))
        self._pending[partition] = offset + 1

    def _commit(self) -> None:
        asked = time.monotonic()
        self._committed_at = asked
        if not self._pending:
            return
        for partition, offset in self._pending.items():
            self._ledger.add(Asked(self.name, partition, offset, asked))
        wanted = [TopicPartition(self._topic, number, at) for number, at in self._pending.items()]
        try:
            done = self._consumer.commit(offsets=wanted, asynchronous=False)
        except KafkaException as failure:
            self._complain(failure.args[0])
            return
        for one in done or ():
            self._confirm(one, asked)

    def _confirm(self, one: TopicPartition, asked: float) -> None:
        if one.error is not None:
            self._complain(one.error)
            return
        self._ledger.add(Committed(self.name, one.partition, one.offset, asked, time.monotonic()))
        del self._pending[one.partition]

    def _complain(self, error: KafkaError) -> None:
        if error.fatal():
            raise KafkaException(error)
        self.complaints[error.name()] += 1

    def _assigned(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        for one in partitions:
            self._ledger.add(Begun(self.name, one.partition, time.monotonic()))

    def _revoked(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self._commit()
        self._drop(partitions)

    def _lost(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        """Others have them already, and what they commit must stand."""
        self._drop(partitions)

    def _drop(self, partitions: list[TopicPartition]) -> None:
        for one in partitions:
            self._pending.pop(one.partition, None)
