"""Client program for kafka-python."""

import time

from kafka import (  # type: ignore[import-untyped]
    KafkaAdminClient,
    KafkaConsumer,
    KafkaProducer,
    OffsetAndMetadata,
    TopicPartition,
)
from kafka.consumer.fetcher import ConsumerRecord  # type: ignore[import-untyped]
from kafka.errors import (  # type: ignore[import-untyped]
    BrokerResponseError,
    KafkaError,
    UnknownTopicOrPartitionError,
)

from tests.clients.kafka_python.settings import connection
from tests.clients.protocol import Consume, CreateTopic, DescribeTopic, Join, Produce, Record
from tests.clients.security import Security
from tests.clients.serving import Answers, OutOfTime, main

WAIT_S = 30.0


class KafkaPython:
    errors = (KafkaError,)

    def __init__(self, bootstrap: str, security: Security | None) -> None:
        self._servers = connection(bootstrap, security)

    def code_of(self, error: Exception) -> int | None:
        return error.errno if isinstance(error, BrokerResponseError) else None

    def create_topic(self, request: CreateTopic) -> None:
        options = {
            "num_partitions": request.partitions,
            "replication_factor": 1,
            "configs": dict(request.configs),
        }
        with KafkaAdminClient(**self._servers) as admin:
            admin.create_topics({request.topic: options})

    def describe_topic(self, request: DescribeTopic) -> list[tuple[int, int]]:
        with KafkaConsumer(**self._servers) as consumer:
            consumer.topics()
            numbers = consumer.partitions_for_topic(request.topic)
            if numbers is None:
                raise UnknownTopicOrPartitionError(request.topic)
            partitions = [TopicPartition(request.topic, number) for number in sorted(numbers)]
            first, end = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
            return [(first[partition], end[partition]) for partition in partitions]

    def produce(self, request: Produce) -> list[tuple[int, int]]:
        with KafkaProducer(**self._servers, **producer_settings(request)) as producer:
            sent = [
                producer.send(
                    request.topic,
                    record.value,
                    record.key,
                    list(record.headers),
                    record.partition,
                    record.timestamp,
                )
                for record in request.records
            ]
            placed = [future.get(WAIT_S) for future in sent]
            return [(at.partition, at.offset) for at in placed]

    def consume(self, request: Consume, answers: Answers) -> None:
        with KafkaConsumer(**self._servers) as consumer:
            partitions = [TopicPartition(request.topic, number) for number in request.partitions]
            consumer.assign(partitions)
            seek(consumer, partitions, request)
            if request.start == "latest":
                for partition in partitions:
                    consumer.position(partition)
                answers.ready()
            read(consumer, request, answers)

    def join(self, request: Join, answers: Answers) -> None:
        """It rejoins only inside `poll`: by then everything is committed.

        Polls are long: if one ends during a join, and the join completes before the next one begins,
        kafka-python 3.0.12 never takes its assignment and sends no heartbeats until its session expires.
        """
        settings = group_settings(request)
        with KafkaConsumer(request.topic, **self._servers, **settings) as consumer:
            while not answers.leaving:
                process(consumer, consumer.poll(timeout_ms=2000, max_records=50), answers)


def process(
    consumer: KafkaConsumer, batches: dict[TopicPartition, list[ConsumerRecord]], answers: Answers
) -> None:
    for record in (record for batch in batches.values() for record in batch):
        answers.record(record_of(record))
    ends = {partition: batch[-1].offset + 1 for partition, batch in batches.items()}
    if ends:
        consumer.commit({partition: OffsetAndMetadata(at, "", -1) for partition, at in ends.items()})
        answers.committed({partition.partition: at for partition, at in ends.items()})


def group_settings(request: Join) -> dict[str, str | int | bool]:
    return {
        "group_id": request.group,
        "session_timeout_ms": request.session_ms,
        "heartbeat_interval_ms": request.heartbeat_ms,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
    }


def seek(consumer: KafkaConsumer, partitions: list[TopicPartition], request: Consume) -> None:
    match request.start:
        case "earliest":
            consumer.seek_to_beginning(*partitions)
        case "latest":
            consumer.seek_to_end(*partitions)
        case "offset":
            for partition in partitions:
                consumer.seek(partition, request.value)
        case "timestamp":
            found = consumer.offsets_for_times(dict.fromkeys(partitions, request.value))
            for partition in partitions:
                consumer.seek(partition, found[partition].offset)


def read(consumer: KafkaConsumer, request: Consume, answers: Answers) -> None:
    deadline = time.monotonic() + request.timeout_ms / 1000
    count = 0
    while count < request.count:
        if time.monotonic() > deadline:
            raise OutOfTime(f"{count} of {request.count} records came")
        batches = consumer.poll(timeout_ms=200, max_records=request.count - count)
        for record in (record for batch in batches.values() for record in batch):
            answers.record(record_of(record))
            count += 1


def producer_settings(request: Produce) -> dict[str, str | int | bool | None]:
    settings: dict[str, str | int | bool | None] = {
        "enable_idempotence": request.idempotent,
        "max_request_size": request.bytes_max,
        "compression_type": request.codec if request.codec != "none" else None,
    }
    return {name: value for name, value in settings.items() if value is not None}


def record_of(read: ConsumerRecord) -> Record:
    headers = tuple((name, value) for name, value in read.headers)
    return Record(read.key, read.value, headers, read.timestamp, read.partition, read.offset)


if __name__ == "__main__":
    main(KafkaPython)
