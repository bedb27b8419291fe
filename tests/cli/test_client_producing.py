"""Producing through trouble: nothing lost, nothing twice, the order kept."""

from collections.abc import Callable

import pytest

from dray.cli.client import Cluster
from dray.cli.client.drafts import Draft
from dray.cli.client.errors import Lost, Undelivered
from dray.cli.client.producer import Producer, ProducerSettings
from dray.records import BatchHeader, decode_batch, parse_header
from dray.wire import ErrorCode, Message
from dray.wire.apis.produce import (
    PRODUCE,
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from tests.cli.scripted_broker import HANG_UP, TOPIC, Say, ScriptedBroker, scripted_cluster

pytestmark = pytest.mark.slow

SMALL = ProducerSettings(batch_bytes=1, linger_ms=0)


def answer(**told: object) -> ProduceResponse:
    partition = PartitionProduceResponse(**told)  # type: ignore[arg-type]
    return ProduceResponse(responses=[TopicProduceResponse(partition_responses=[partition])])


def batch_of(request: Message) -> memoryview:
    assert isinstance(request, ProduceRequest)
    records = request.topic_data[0].partition_data[0].records
    assert records is not None
    return records


def header_of(request: Message) -> BatchHeader:
    return parse_header(batch_of(request))


def values_of(request: Message) -> tuple[bytes | None, ...]:
    return tuple(record.value for record in decode_batch(batch_of(request)))


class Partition:
    """What a broker keeps: it takes batches in sequence only, and each once."""

    def __init__(self, *, trouble: Callable[[int], Say | bool]) -> None:
        self.sequences: list[int] = []
        self._trouble = trouble
        self._seen = 0

    def __call__(self, request: Message) -> Say:
        """`trouble` says for each request: False for none, True to take the batch but hang up."""
        trouble = self._trouble(self._seen)
        self._seen += 1
        if not isinstance(trouble, bool):
            return trouble
        sequence = header_of(request).base_sequence
        if sequence > len(self.sequences):
            return answer(error_code=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        if sequence < len(self.sequences):
            return HANG_UP if trouble else answer(error_code=ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
        self.sequences.append(sequence)
        return HANG_UP if trouble else answer(base_offset=sequence)


async def send(cluster: Cluster, count: int, settings: ProducerSettings = SMALL) -> list[int]:
    """Send lines 1, 2, 3…; returns those that were told to be safe, in that order."""
    safe: list[int] = []
    layout = await cluster.layout(TOPIC)
    producer = await Producer.open(cluster, layout, settings, lambda batch: safe.extend(batch.lines))
    for line in range(1, count + 1):
        await producer.add(Draft(line, None, b"%d" % line))
    await producer.flush()
    return safe


NOT_LEADER = answer(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)


@pytest.mark.parametrize(
    "trouble",
    [
        lambda _: False,
        lambda number: NOT_LEADER if number == 2 else False,
        lambda number: HANG_UP if number in (0, 4, 5) else False,
        lambda number: number == 1,
        lambda number: number in (3, 6, 7),
    ],
    ids=["none", "not the leader", "hung up", "taken but not told", "often taken but not told"],
)
async def test_trouble_that_passes_costs_nothing(trouble: Callable[[int], Say | bool]) -> None:
    broker, partition = ScriptedBroker(), Partition(trouble=trouble)
    broker.on(PRODUCE.key, partition)
    async with scripted_cluster(broker) as cluster:
        assert await send(cluster, 12) == list(range(1, 13))
    assert partition.sequences == list(range(12))


async def test_several_batches_are_on_their_way_at_once() -> None:
    broker = ScriptedBroker()
    arrived: list[int] = []

    def silent(request: Message) -> Say:
        arrived.append(header_of(request).base_sequence)
        return None

    broker.on(PRODUCE.key, silent)
    async with scripted_cluster(broker, timeout_s=0.3) as cluster:
        with pytest.raises(Undelivered, match="lines 1 to 9: not acknowledged in time"):
            await send(cluster, 9)
    assert arrived[:5] == [0, 1, 2, 3, 4]
    assert arrived[5] == 0  # after the silence, the same ones again and no others


async def test_without_numbers_only_one_batch_is_on_its_way() -> None:
    broker = ScriptedBroker()
    broker.on(PRODUCE.key, lambda _: None)
    settings = ProducerSettings(batch_bytes=1, linger_ms=0, idempotent=False)
    async with scripted_cluster(broker, timeout_s=0.3) as cluster:
        with pytest.raises(Undelivered, match="not acknowledged"):
            await send(cluster, 3, settings)
    requests = [one for one in broker.asked if isinstance(one, ProduceRequest)]
    assert {values_of(request) for request in requests} == {(b"1",)}
    assert {header_of(request).producer_id for request in requests} == {-1}


async def test_a_refusal_names_the_line_the_broker_points_at() -> None:
    broker = ScriptedBroker()
    fault = BatchIndexAndErrorMessage(batch_index=2, batch_index_error_message="no key")
    refusal = answer(
        error_code=ErrorCode.INVALID_RECORD, error_message="One record was bad.", record_errors=[fault]
    )
    broker.on(PRODUCE.key, lambda _: refusal)
    async with scripted_cluster(broker) as cluster:
        with pytest.raises(Undelivered, match=r"^line 3: the broker: One record was bad \(INVALID_RECORD\)$"):
            await send(cluster, 4, ProducerSettings())


async def test_a_refusal_without_a_pointer_names_the_batch() -> None:
    broker = ScriptedBroker()
    broker.on(PRODUCE.key, lambda _: answer(error_code=ErrorCode.MESSAGE_TOO_LARGE))
    async with scripted_cluster(broker) as cluster:
        with pytest.raises(Undelivered, match=r"^lines 1 to 4: the broker: MESSAGE_TOO_LARGE$"):
            await send(cluster, 4, ProducerSettings())


async def test_a_refusal_without_an_answer_is_heard_of_at_the_end() -> None:
    broker = ScriptedBroker()
    broker.on(PRODUCE.key, lambda _: HANG_UP)
    async with scripted_cluster(broker) as cluster:
        with pytest.raises(Lost, match="closed the connection"):
            await send(cluster, 1, ProducerSettings(acks=0, idempotent=False))


async def test_a_topic_deleted_meanwhile_is_told_soon() -> None:
    broker = ScriptedBroker()
    broker.on(PRODUCE.key, lambda _: answer(error_code=ErrorCode.UNKNOWN_TOPIC_ID))
    async with scripted_cluster(broker, timeout_s=0.3) as cluster:
        with pytest.raises(Undelivered, match=r"line 1: not acknowledged in time: .*no such topic"):
            await send(cluster, 1)
