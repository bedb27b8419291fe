"""Group member on aiokafka."""

import asyncio
from collections.abc import Mapping

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition  # type: ignore[import-untyped]
from aiokafka.structs import ConsumerRecord  # type: ignore[import-untyped]

from tests.clients.aiokafka.reading import record_of
from tests.clients.protocol import Join
from tests.clients.serving import Answers


class Member(ConsumerRebalanceListener):  # type: ignore[misc]
    """aiokafka rejoins in the background; a lock limits that to the time between two batches.

    `getmany` is called without the lock: it waits for the partitions that the join assigns.
    """

    def __init__(self, request: Join, answers: Answers) -> None:
        self._request = request
        self._answers = answers
        self._processing = asyncio.Lock()

    async def run(self, servers: Mapping[str, object]) -> None:
        async with AIOKafkaConsumer(**servers, **settings(self._request)) as consumer:
            consumer.subscribe([self._request.topic], listener=self)
            while not self._answers.leaving:
                batches = await consumer.getmany(timeout_ms=100, max_records=50)
                async with self._processing:
                    await self._process(consumer, batches)

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        async with self._processing:
            pass

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        pass

    async def _process(
        self, consumer: AIOKafkaConsumer, batches: dict[TopicPartition, list[ConsumerRecord]]
    ) -> None:
        for record in (record for batch in batches.values() for record in batch):
            self._answers.record(record_of(record))
        ends = {partition: batch[-1].offset + 1 for partition, batch in batches.items()}
        if ends:
            await consumer.commit(ends)
            self._answers.committed({partition.partition: at for partition, at in ends.items()})


def settings(request: Join) -> dict[str, str | int | bool]:
    return {
        "group_id": request.group,
        "session_timeout_ms": request.session_ms,
        "heartbeat_interval_ms": request.heartbeat_ms,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
    }
