"""Group member on librdkafka, in either protocol."""

from collections.abc import Mapping

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from tests.clients.librdkafka.messages import placed, record_of
from tests.clients.protocol import Join
from tests.clients.serving import Answers

RECORDS_MAX = 50


class Member:
    """Commits when there is nothing to read, periodically, and before partitions are revoked."""

    def __init__(
        self, servers: Mapping[str, str | int | float | bool], request: Join, answers: Answers
    ) -> None:
        self._topic = request.topic
        self._answers = answers
        self._consumer = Consumer(dict(servers) | settings(request))
        self._pending: dict[int, int] = {}
        self._records = 0

    def run(self) -> None:
        self._consumer.subscribe([self._topic], on_revoke=self._revoked, on_lost=self._lost)
        try:
            while not self._answers.leaving:
                self._step()
            self._commit()
        finally:
            self._consumer.close()

    def _step(self) -> None:
        message = self._consumer.poll(0.1)
        if message is not None:
            self._process(message)
        if message is None or self._records >= RECORDS_MAX:
            self._commit()

    def _process(self, message: Message) -> None:
        if error := message.error():
            raise KafkaException(error)
        self._answers.record(record_of(message))
        partition, offset = placed(message)
        self._pending[partition] = offset + 1
        self._records += 1

    def _commit(self) -> None:
        if self._pending:
            offsets = [TopicPartition(self._topic, number, at) for number, at in self._pending.items()]
            for done in self._consumer.commit(offsets=offsets, asynchronous=False) or ():
                if done.error:
                    raise KafkaException(done.error)
            self._answers.committed(self._pending)
            self._forget()

    def _forget(self) -> None:
        self._pending.clear()
        self._records = 0

    def _revoked(self, _consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        self._commit()

    def _lost(self, _consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        """Other members own them already, and their commits must not be overwritten."""
        self._forget()


def settings(request: Join) -> dict[str, str | int | float | bool]:
    chosen: dict[str, str | int | float | bool] = {
        "group.id": request.group,
        "group.protocol": request.protocol,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    if request.protocol == "consumer":  # librdkafka rejects the other two there
        return chosen
    return chosen | {"session.timeout.ms": request.session_ms, "heartbeat.interval.ms": request.heartbeat_ms}
