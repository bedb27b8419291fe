"""Client program for librdkafka, through Confluent's Python binding."""

import time
from collections.abc import Callable

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.clients.librdkafka.load import load
from tests.clients.librdkafka.member import Member
from tests.clients.librdkafka.messages import placed, record_of
from tests.clients.librdkafka.settings import Settings, connection
from tests.clients.protocol import Consume, CreateTopic, DescribeTopic, Join, Load, Produce
from tests.clients.security import Security
from tests.clients.serving import Answers, OutOfTime, main

WAIT_S = 30.0
POLL_S = 0.1


class Librdkafka:
    errors = (KafkaException,)

    def __init__(self, bootstrap: str, security: Security | None) -> None:
        self._servers: Settings = connection(bootstrap, security)

    def code_of(self, error: Exception) -> int | None:
        code = int(error.args[0].code())
        return code if code > 0 else None  # negative codes are librdkafka's own, not from a broker

    def create_topic(self, request: CreateTopic) -> None:
        topic = NewTopic(request.topic, request.partitions, 1, config=dict(request.configs))
        admin = AdminClient(self._servers)  # must outlive its futures
        admin.create_topics([topic])[request.topic].result(WAIT_S)

    def describe_topic(self, request: DescribeTopic) -> list[tuple[int, int]]:
        consumer = self._consumer()
        try:
            found = consumer.list_topics(request.topic, WAIT_S).topics[request.topic]
            if found.error:
                raise KafkaException(found.error)
            partitions = [TopicPartition(request.topic, number) for number in sorted(found.partitions)]
            return [consumer.get_watermark_offsets(partition, WAIT_S) for partition in partitions]
        finally:
            consumer.close()

    def produce(self, request: Produce) -> list[tuple[int, int]]:
        refusals: list[KafkaError] = []
        producer = Producer(
            self._servers | producer_settings(request) | {"error_cb": lambda error: note(error, refusals)}
        )
        if request.transactional_id is not None:
            producer.init_transactions(WAIT_S)
            producer.begin_transaction()
        delivered: list[Message | None] = [None] * len(request.records)
        failures: list[KafkaError] = []
        for number, record in enumerate(request.records):
            producer.produce(
                request.topic,
                record.value,
                record.key,
                record.partition,
                on_delivery=keeping(number, delivered, failures),
                timestamp=record.timestamp or 0,
                headers=list(record.headers),
            )
            producer.poll(0)
        flush(producer, refusals)
        if failures:
            raise KafkaException(failures[0])
        if request.transactional_id is not None:
            producer.commit_transaction(WAIT_S)
        return [placed(message) for message in delivered]

    def consume(self, request: Consume, answers: Answers) -> None:
        consumer = self._consumer()
        try:
            consumer.assign(self._starts(consumer, request))
            read(consumer, request, answers)
        finally:
            consumer.close()

    def join(self, request: Join, answers: Answers) -> None:
        Member(self._servers, request, answers).run()

    def load(self, request: Load, answers: Answers) -> list[tuple[int, int]]:
        return load(self._servers, request.topic, answers)

    def _starts(self, consumer: Consumer, request: Consume) -> list[TopicPartition]:
        fixed = {"earliest": OFFSET_BEGINNING, "latest": OFFSET_END}
        at = fixed.get(request.start, request.value)
        starts = [TopicPartition(request.topic, number, at) for number in request.partitions]
        if request.start == "timestamp":
            return list(consumer.offsets_for_times(starts, WAIT_S))
        return starts

    def _consumer(self) -> Consumer:
        """The group id is required but unused: partitions are assigned, and no offsets are committed."""
        return Consumer(
            self._servers | {"group.id": "none", "enable.auto.commit": False, "enable.partition.eof": True}
        )


def producer_settings(request: Produce) -> dict[str, str | int | bool]:
    settings = {
        "compression.type": request.codec,
        "enable.idempotence": request.idempotent,
        "message.max.bytes": request.bytes_max,
        "transactional.id": request.transactional_id,
    }
    return {name: value for name, value in settings.items() if value is not None}


def note(error: KafkaError, refusals: list[KafkaError]) -> None:
    """Keep what says that a broker does not admit the client; librdkafka itself tries again."""
    if error.code() in {KafkaError._AUTHENTICATION, KafkaError._SSL} or "SSL alert" in error.str():
        refusals.append(error)


def flush(producer: Producer, refusals: list[KafkaError]) -> None:
    deadline = time.monotonic() + WAIT_S
    while producer.flush(POLL_S):
        if refusals:
            raise KafkaException(refusals[0])
        if time.monotonic() > deadline:
            raise OutOfTime("not every record was delivered")


def keeping(
    number: int, delivered: list[Message | None], failures: list[KafkaError]
) -> Callable[[KafkaError | None, Message], None]:
    def keep(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append(error)
        delivered[number] = message

    return keep


def read(consumer: Consumer, request: Consume, answers: Answers) -> None:
    """The end of a partition is an event; for `latest` it shows that the start position is resolved."""
    deadline = time.monotonic() + request.timeout_ms / 1000
    unsettled = set(request.partitions) if request.start == "latest" else set()
    count = 0
    while count < request.count:
        message = consumer.poll(0.1)
        if message is None:
            if time.monotonic() > deadline:
                raise OutOfTime(f"{count} of {request.count} records came")
        elif (error := message.error()) is None:
            answers.record(record_of(message))
            count += 1
        elif error.code() != KafkaError._PARTITION_EOF:
            raise KafkaException(error)
        elif unsettled:
            unsettled.discard(message.partition())
            if not unsettled:
                answers.ready()


if __name__ == "__main__":
    main(Librdkafka)
