"""The way of one partition's batches to its leader: in order, a few at a time.

Several batches may be on their way at once; a broker takes the requests of a connection in their order. When
one fails in a way that may pass, nothing new is sent until all that are on their way have been answered, then
everything from the failed one on is sent again. That keeps the order, and with a producer id the broker knows
a batch that it has already. Without one, only one batch is on its way at a time.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dray.cli.client.cluster import Cluster, TopicLayout, layout_of
from dray.cli.client.connection import Answer, Connection
from dray.cli.client.drafts import Sealed, lines_shown
from dray.cli.client.errors import (
    ClientError,
    Lost,
    NotKafka,
    Refused,
    TryAgain,
    Undelivered,
    UnknownTopic,
    raise_for,
)
from dray.wire import ErrorCode
from dray.wire.apis.metadata import METADATA, MetadataRequest, MetadataResponse
from dray.wire.apis.produce import (
    PRODUCE,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

_AT_ONCE_MAX: Final = 5
_PAUSE_S: Final = 0.2
NO_ANSWER: Final = 0
"""The value of acks with which a broker says nothing."""


@dataclass(frozen=True, slots=True)
class Route:
    """Where a lane leads and how it is driven."""

    partition: int
    acks: int
    idempotent: bool
    delivered: Callable[[Sealed], None]

    @property
    def at_once_max(self) -> int:
        return _AT_ONCE_MAX if self.idempotent else 1


class Lane:
    """Sends batches until cancelled."""

    def __init__(self, cluster: Cluster, layout: TopicLayout, route: Route) -> None:
        self._cluster = cluster
        self._layout = layout
        self._route = route
        self._waiting: deque[Sealed] = deque()
        self._flying: deque[tuple[Sealed, Answer]] = deque()
        self._changed = asyncio.Event()
        self._trouble_since: float | None = None

    @property
    def empty(self) -> bool:
        return not self._waiting and not self._flying

    def put(self, batch: Sealed) -> None:
        self._waiting.append(batch)
        self._changed.set()

    async def run(self) -> None:
        """Send what is put; raises `Undelivered` when a batch cannot be brought to the broker."""
        while True:
            self._changed.clear()
            try:
                self._settle()
                await self._launch()
                await self._wait()
            except (TryAgain, UnknownTopic) as error:
                await self._step_back(error)

    async def confirm(self) -> None:
        """Wait until the broker has read all that was sent without an answer."""
        connection = await self._connection()
        await connection.ask(METADATA, MetadataRequest(topics=[]), MetadataResponse)

    async def _wait(self) -> None:
        if not self._flying:
            await self._changed.wait()
            return
        try:
            async with asyncio.timeout(self._cluster.parts.timeout_s):
                await self._changed.wait()
        except TimeoutError:
            await (await self._connection()).close()
            raise Lost(f"no answer within {self._cluster.parts.timeout_s:g} s") from None

    async def _connection(self) -> Connection:
        return await self._cluster.broker(self._layout.leaders[self._route.partition])

    async def _launch(self) -> None:
        while self._waiting and len(self._flying) < self._route.at_once_max:
            connection = await self._connection()
            request = self._request(self._waiting[0])
            if self._route.acks == NO_ANSWER:
                connection.tell(PRODUCE, request)
                self._route.delivered(self._waiting.popleft())
                await connection.drain()
            else:
                answer = connection.start(PRODUCE, request)
                answer.add_done_callback(lambda _: self._changed.set())
                self._flying.append((self._waiting.popleft(), answer))

    def _request(self, batch: Sealed) -> ProduceRequest:
        data = PartitionProduceData(index=self._route.partition, records=memoryview(batch.encoded))
        topic = TopicProduceData(
            name=self._layout.name, topic_id=self._layout.topic_id, partition_data=[data]
        )
        timeout_ms = int(self._cluster.parts.timeout_s * 1000)
        return ProduceRequest(acks=self._route.acks, timeout_ms=timeout_ms, topic_data=[topic])

    def _settle(self) -> None:
        """Take the answers that have come, in order."""
        while self._flying and self._flying[0][1].done():
            batch, answer = self._flying[0]
            self._judge(batch, answer.result())
            self._flying.popleft()
            self._trouble_since = None
            self._changed.set()  # there is room to launch another one
            self._route.delivered(batch)

    def _judge(self, batch: Sealed, message: object) -> None:
        told = _answer_in(message)
        if told.error_code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            return
        try:
            raise_for(told.error_code, "the broker", told.error_message)
        except UnknownTopic:
            raise
        except Refused as error:
            raise Undelivered(f"{refused_lines(batch, told)}: {error}") from error

    async def _step_back(self, error: ClientError) -> None:
        """Wait for all that are on their way, then send again from the failed one on; or give up."""
        parts = self._cluster.parts
        now = parts.clock.monotonic()
        self._trouble_since = now if self._trouble_since is None else self._trouble_since
        patience_s = parts.topic_patience_s if isinstance(error, UnknownTopic) else parts.timeout_s
        if now - self._trouble_since > patience_s:
            raise self._given_up(error) from error
        if self._flying:
            await asyncio.wait([answer for _, answer in self._flying], timeout=parts.timeout_s)
        self._waiting.extendleft(batch for batch, _ in reversed(self._flying))
        self._flying.clear()
        await parts.clock.sleep(_PAUSE_S)
        await self._look_again()

    async def _look_again(self) -> None:
        """The partition may have another leader now. If that cannot be learnt, the old one is tried."""
        try:
            found = await self._cluster.metadata([self._layout.name])
            self._layout = layout_of(self._layout.name, found.topics)
        except (TryAgain, UnknownTopic):
            return

    def _given_up(self, error: ClientError) -> Undelivered:
        lines = [line for batch, _ in self._flying for line in batch.lines]
        lines += [line for batch in self._waiting for line in batch.lines]
        return Undelivered(f"{lines_shown(lines)}: not acknowledged in time: {error}")


def _answer_in(message: object) -> PartitionProduceResponse:
    assert isinstance(message, ProduceResponse)
    told = [one for topic in message.responses for one in topic.partition_responses]
    if len(told) != 1:
        raise NotKafka(f"one batch was sent, and the broker answers for {len(told)}")
    return told[0]


def refused_lines(batch: Sealed, told: PartitionProduceResponse) -> str:
    """Name the lines at fault: those the broker points at, or the whole batch."""
    pointed = [
        batch.lines[one.batch_index] for one in told.record_errors if one.batch_index < len(batch.lines)
    ]
    return lines_shown(pointed or batch.lines)
