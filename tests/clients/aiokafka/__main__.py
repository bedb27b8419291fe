"""Client program for aiokafka."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition  # type: ignore[import-untyped]
from aiokafka.admin import AIOKafkaAdminClient, NewTopic  # type: ignore[import-untyped]
from aiokafka.errors import BrokerResponseError, KafkaError  # type: ignore[import-untyped]

from tests.clients.aiokafka.member import Member
from tests.clients.aiokafka.reading import record_of
from tests.clients.aiokafka.settings import connection
from tests.clients.protocol import Consume, CreateTopic, DescribeTopic, Join, Produce
from tests.clients.security import Security
from tests.clients.serving import Answers, OutOfTime, Refused, main


class Aiokafka:
    errors = (KafkaError,)

    def __init__(self, bootstrap: str, security: Security | None) -> None:
        self._servers = connection(bootstrap, security)

    def code_of(self, error: Exception) -> int | None:
        return error.errno if isinstance(error, BrokerResponseError) else None

    def create_topic(self, request: CreateTopic) -> None:
        asyncio.run(self._create_topic(request))

    def describe_topic(self, request: DescribeTopic) -> list[tuple[int, int]]:
        return asyncio.run(self._describe_topic(request))

    def produce(self, request: Produce) -> list[tuple[int, int]]:
        return asyncio.run(self._produce(request))

    def consume(self, request: Consume, answers: Answers) -> None:
        asyncio.run(self._consume(request, answers))

    def join(self, request: Join, answers: Answers) -> None:
        asyncio.run(Member(request, answers).run(self._servers))

    async def _create_topic(self, request: CreateTopic) -> None:
        async with self._admin() as admin:
            topic = NewTopic(request.topic, request.partitions, 1, topic_configs=dict(request.configs))
            answer = await admin.create_topics([topic])
        for name, code, message in answer.topic_errors:  # it does not raise for them
            if code:
                raise Refused(code, f"{name}: {message}")

    async def _describe_topic(self, request: DescribeTopic) -> list[tuple[int, int]]:
        async with self._admin() as admin:
            (topic,) = await admin.describe_topics([request.topic])
        if topic["error_code"]:
            raise Refused(topic["error_code"], request.topic)
        partitions = [TopicPartition(request.topic, number) for number in range(len(topic["partitions"]))]
        async with AIOKafkaConsumer(**self._servers) as consumer:
            first, end = await consumer.beginning_offsets(partitions), await consumer.end_offsets(partitions)
        return [(first[partition], end[partition]) for partition in partitions]

    @asynccontextmanager
    async def _admin(self) -> AsyncIterator[AIOKafkaAdminClient]:
        admin = AIOKafkaAdminClient(**self._servers)
        await admin.start()
        try:
            yield admin
        finally:
            await admin.close()

    async def _produce(self, request: Produce) -> list[tuple[int, int]]:
        settings = producer_settings(request)
        async with AIOKafkaProducer(**self._servers, **settings) as producer:
            sent = [
                await producer.send(
                    request.topic,
                    record.value,
                    record.key,
                    record.partition,
                    record.timestamp,
                    list(record.headers),
                )
                for record in request.records
            ]
            return [(placed.partition, placed.offset) for placed in await asyncio.gather(*sent)]

    async def _consume(self, request: Consume, answers: Answers) -> None:
        async with AIOKafkaConsumer(**self._servers) as consumer:
            partitions = [TopicPartition(request.topic, number) for number in request.partitions]
            consumer.assign(partitions)
            await seek(consumer, partitions, request)
            if request.start == "latest":
                for partition in partitions:
                    await consumer.position(partition)
                answers.ready()
            await read(consumer, request, answers)


async def seek(consumer: AIOKafkaConsumer, partitions: list[TopicPartition], request: Consume) -> None:
    match request.start:
        case "earliest":
            await consumer.seek_to_beginning(*partitions)
        case "latest":
            await consumer.seek_to_end(*partitions)
        case "offset":
            for partition in partitions:
                consumer.seek(partition, request.value)
        case "timestamp":
            found = await consumer.offsets_for_times(dict.fromkeys(partitions, request.value))
            for partition in partitions:
                consumer.seek(partition, found[partition].offset)


async def read(consumer: AIOKafkaConsumer, request: Consume, answers: Answers) -> None:
    deadline = time.monotonic() + request.timeout_ms / 1000
    count = 0
    while count < request.count:
        if time.monotonic() > deadline:
            raise OutOfTime(f"{count} of {request.count} records came")
        batches = await consumer.getmany(timeout_ms=200, max_records=request.count - count)
        for record in (record for batch in batches.values() for record in batch):
            answers.record(record_of(record))
            count += 1


def producer_settings(request: Produce) -> dict[str, str | int | bool | None]:
    settings: dict[str, str | int | bool | None] = {
        "enable_idempotence": request.idempotent,
        "max_request_size": request.bytes_max,
        "max_batch_size": request.bytes_max,
        "compression_type": request.codec if request.codec != "none" else None,
    }
    return {name: value for name, value in settings.items() if value is not None}


if __name__ == "__main__":
    main(Aiokafka)
