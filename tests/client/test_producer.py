"""Producing beside brokers that fail: nothing lost, nothing duplicated, order kept; lines are named."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from dray.client import Admin, Producer, ProducerRecord, ProducerSettings, Undelivered
from dray.client.producer import NO_ACKS, StickyPartition
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
from tests.client.scripted_broker import HANG_UP, TOPIC, Say, ScriptedBroker, scripted

pytestmark = pytest.mark.slow

SMALL = ProducerSettings(batch_bytes=1, linger_ms=0)


def answer(**fields: object) -> ProduceResponse:
    partition = PartitionProduceResponse(**fields)  # type: ignore[arg-type]
    return ProduceResponse(responses=[TopicProduceResponse(name=TOPIC, partition_responses=[partition])])


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
    """A broker's partition: in each producer epoch it appends batches in sequence only, and each once."""

    def __init__(self, fault: Callable[[int], Say | bool]) -> None:
        self.values: list[bytes | None] = []
        self._fault = fault
        self._requests = 0
        self._epoch = self._next = 0

    def __call__(self, request: Message) -> Say:
        """`fault` decides for each request: False for none, True to append the batch but hang up."""
        fault = self._fault(self._requests)
        self._requests += 1
        if not isinstance(fault, bool):
            return fault
        header = header_of(request)
        if header.producer_epoch > self._epoch:
            self._epoch, self._next = header.producer_epoch, 0
        if header.base_sequence > self._next:
            return answer(error_code=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        if header.base_sequence < self._next:
            return HANG_UP if fault else answer(error_code=ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
        self._next += header.record_count
        self.values += values_of(request)
        return HANG_UP if fault else answer(base_offset=len(self.values))


def send(admin: Admin, count: int, settings: ProducerSettings = SMALL) -> Producer:
    """Send lines 1, 2, 3…"""
    producer = Producer(admin.config, TOPIC, 1, settings)
    for line in range(1, count + 1):
        producer.send(ProducerRecord(line, None, b"%d" % line))
    producer.flush()
    return producer


NOT_LEADER = answer(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)


@pytest.mark.parametrize(
    "fault",
    [
        lambda _: False,
        lambda number: NOT_LEADER if number == 2 else False,
        lambda number: HANG_UP if number in (0, 4, 5) else False,
        lambda number: number == 1,
        lambda number: number in (3, 6, 7),
    ],
    ids=["none", "not the leader", "hung up", "appended but not acknowledged", "often not acknowledged"],
)
def test_transient_faults_lose_and_duplicate_nothing(fault: Callable[[int], Say | bool]) -> None:
    broker, partition = ScriptedBroker(), Partition(fault)
    broker.on(PRODUCE.key, partition)
    with scripted(broker) as admin:
        assert send(admin, 12).acknowledged == (12, 9 + 2 * 3)
    assert partition.values == [b"%d" % line for line in range(1, 13)]


def test_without_idempotence_one_batch_is_in_flight() -> None:
    broker = ScriptedBroker()
    broker.on(PRODUCE.key, lambda _: None)
    settings = ProducerSettings(batch_bytes=1, linger_ms=0, idempotent=False)
    with scripted(broker, timeout_s=0.3) as admin, pytest.raises(Undelivered, match="not acknowledged"):
        send(admin, 3, settings)
    requests = [one for one in broker.requests if isinstance(one, ProduceRequest)]
    assert {values_of(request) for request in requests} == {(b"1",)}
    assert {header_of(request).producer_id for request in requests} == {-1}


def test_refusal_names_the_lines_of_invalid_records() -> None:
    """librdkafka knows them only if a broker points at more than one."""
    broker = ScriptedBroker()
    errors = [BatchIndexAndErrorMessage(batch_index=index) for index in (1, 2)]
    broker.on(PRODUCE.key, lambda _: answer(error_code=ErrorCode.INVALID_RECORD, record_errors=errors))
    expected = r"^lines 2 to 3: rejected: a record is invalid.* \(INVALID_RECORD\)$"
    with scripted(broker) as admin, pytest.raises(Undelivered, match=expected):
        send(admin, 4, ProducerSettings(linger_ms=100))


def test_refusal_without_a_pointer_names_the_batch() -> None:
    broker = ScriptedBroker()
    broker.on(PRODUCE.key, lambda _: answer(error_code=ErrorCode.MESSAGE_TOO_LARGE))
    expected = r"^lines 1 to 4: rejected: Message size too large \(MESSAGE_TOO_LARGE\)$"
    with scripted(broker) as admin, pytest.raises(Undelivered, match=expected):
        send(admin, 4, ProducerSettings(linger_ms=100))


def test_unacknowledged_lines_are_named_at_the_time_limit() -> None:
    broker = ScriptedBroker()
    broker.on(PRODUCE.key, lambda _: None)
    expected = r"^lines 1 to 9: not acknowledged within 0\.3 s"
    with scripted(broker, timeout_s=0.3) as admin, pytest.raises(Undelivered, match=expected):
        send(admin, 9)


def test_without_acks_nothing_is_awaited_but_the_connection() -> None:
    broker = ScriptedBroker()
    broker.on(PRODUCE.key, lambda _: None)
    with scripted(broker) as admin:
        producer = send(admin, 3, ProducerSettings(acks=NO_ACKS, idempotent=False, linger_ms=100))
    assert producer.acknowledged == (3, 3)
    requests = [one for one in broker.requests if isinstance(one, ProduceRequest)]
    assert [values_of(request) for request in requests] == [(b"1", b"2", b"3")]


def test_topic_deleted_meanwhile_is_reported_soon() -> None:
    broker = ScriptedBroker()
    broker.on(PRODUCE.key, lambda _: answer(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    with (
        scripted(broker, timeout_s=1) as admin,
        pytest.raises(Undelivered, match=r"^line 1: .*(no such topic|not acknowledged within)"),
    ):
        send(admin, 1)


def test_timestamp_that_librdkafka_would_replace_is_refused() -> None:
    broker = ScriptedBroker()
    with scripted(broker) as admin, pytest.raises(Undelivered, match="line 7: timestamp 0"):
        Producer(admin.config, TOPIC, 1, SMALL).send(ProducerRecord(7, None, b"v", timestamp_ms=0))


def test_keyless_records_change_partition_when_a_batch_is_full() -> None:
    sticky = StickyPartition(3, batch_bytes=100)
    placed = [sticky.place(30) for _ in range(12)]
    assert placed == [0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0]
    assert all(after in (before, (before + 1) % 3) for before, after in pairwise(placed))


def test_keyless_records_change_partition_when_the_input_pauses() -> None:
    sticky = StickyPartition(3, batch_bytes=100)
    sticky.advance()
    assert sticky.place(1) == 0
    sticky.advance()
    sticky.advance()
    assert [sticky.place(1), sticky.place(500), sticky.place(1)] == [1, 2, 0]
