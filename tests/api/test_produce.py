"""Produce over a real socket: errors have Kafka's codes, and affect only their batch.

The same cases are put to Apache Kafka in `tests/oracle/scenarios/produce.py`; here the codes are spelt out.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest
from cramjam import snappy

from dray.api.dispatch import Dispatcher
from dray.api.metrics import ApiMetrics
from dray.log import Appended, NotStored
from dray.observe import Metrics
from dray.records import Codec, decode_batch, iter_batches, xerial
from dray.wire import ErrorCode as E
from dray.wire.apis.fetch import FetchResponse
from dray.wire.apis.init_producer_id import InitProducerIdResponse
from dray.wire.apis.list_offsets import ListOffsetsResponse
from dray.wire.apis.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from dray.wire.apis.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tests.api.builders import PEER, Broker, on_broker
from tests.api.conftest import MakeTopic
from tests.oracle.batches import TIME_MS, batch, patched, with_payload
from tests.oracle.request_client import Closed, RequestClient, frame_of
from tests.oracle.requests import LATEST, Named, fetch, idempotent, offsets, part, produce

VALID = batch(b"one", b"two")
SMALL = 2000
FAR_MS = 4_102_444_800_000


def answer(
    client: RequestClient, request: ProduceRequest, version: int = 13, client_id: str = "test"
) -> PartitionProduceResponse:
    reply = client.send(request, ProduceResponse, version, client_id=client_id)
    (topic,) = reply.responses
    (one,) = topic.partition_responses
    return one


def code(client: RequestClient, topic: Named, records: bytes | None, version: int = 13, **more: Any) -> int:
    return answer(client, produce(topic, records, **more), version).error_code


def end(client: RequestClient, topic: Named) -> int:
    return client.send(offsets(topic.name, LATEST), ListOffsetsResponse).topics[0].partitions[0].offset


@pytest.mark.parametrize("version", range(3, 14))
def test_valid_batch_is_accepted_in_every_version(client: RequestClient, topic: Named, version: int) -> None:
    first = answer(client, produce(topic, VALID), version)
    second = answer(client, produce(topic, VALID), version)
    assert (first.error_code, first.base_offset, first.log_append_time_ms) == (E.NONE, 0, -1)
    assert (second.base_offset, second.log_start_offset) == (2, 0 if version >= 5 else -1)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        pytest.param(None, E.INVALID_RECORD, id="null"),
        pytest.param(b"", E.INVALID_RECORD, id="empty"),
        pytest.param(bytes(range(200)), E.CORRUPT_MESSAGE, id="garbage"),
        pytest.param(bytes(100), E.CORRUPT_MESSAGE, id="zeros"),
        pytest.param(VALID[:11], E.INVALID_RECORD, id="eleven bytes"),
        pytest.param(VALID[:-1], E.INVALID_RECORD, id="a byte is missing"),
        pytest.param(VALID + VALID, E.INVALID_RECORD, id="two batches"),
        pytest.param(patched(VALID, batch_length=13), E.CORRUPT_MESSAGE, id="length 13"),
        pytest.param(patched(VALID, magic=0), E.INVALID_RECORD, id="magic 0"),
        pytest.param(patched(VALID, magic=1), E.INVALID_RECORD, id="magic 1"),
        pytest.param(patched(VALID, magic=3), E.CORRUPT_MESSAGE, id="magic 3"),
        pytest.param(patched(VALID, crc=7, keep_crc=True), E.CORRUPT_MESSAGE, id="wrong crc"),
        pytest.param(patched(VALID, base_offset=5), E.INVALID_RECORD, id="base offset"),
        pytest.param(batch(b"x" * SMALL), E.MESSAGE_TOO_LARGE, id="too large"),
        pytest.param(patched(VALID, record_count=0), E.INVALID_RECORD, id="count 0"),
        pytest.param(patched(VALID, record_count=3), E.INVALID_RECORD, id="count unlike delta"),
        pytest.param(patched(VALID, last_offset_delta=-2), E.INVALID_RECORD, id="negative delta"),
        pytest.param(
            patched(VALID, record_count=1, last_offset_delta=0),
            E.INVALID_RECORD,
            id="more records than counted",
        ),
        pytest.param(
            patched(VALID, record_count=3, last_offset_delta=2), E.INVALID_RECORD, id="fewer than counted"
        ),
        pytest.param(with_payload(VALID, b"\xff" * 40), E.INVALID_RECORD, id="rubbish for records"),
        pytest.param(with_payload(VALID, b""), E.INVALID_RECORD, id="no records"),
        pytest.param(batch(control=True), E.INVALID_RECORD, id="control"),
        pytest.param(batch(producer=(5, 0, -1)), E.INVALID_RECORD, id="producer without sequence"),
        pytest.param(patched(VALID, attributes=5), E.UNSUPPORTED_COMPRESSION_TYPE, id="unknown codec"),
        pytest.param(batch(time_ms=FAR_MS), E.INVALID_TIMESTAMP, id="from the future"),
        pytest.param(batch(transactional=True), E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, id="transactional"),
    ],
)
def test_invalid_batch_is_refused(
    client: RequestClient, make_topic: MakeTopic, records: bytes | None, expected: E
) -> None:
    topic = make_topic("invalid", max_message_bytes=str(SMALL))
    one = answer(client, produce(topic, records))
    assert (one.error_code, one.base_offset) == (expected, -1)
    assert end(client, topic) == 0, "nothing of it was kept"
    assert code(client, topic, VALID) == E.NONE, "the next one is taken"


def test_batch_larger_than_a_segment_is_refused(client: RequestClient, make_topic: MakeTopic) -> None:
    topic = make_topic("segments", max_message_bytes="3000000", segment_bytes="1048576")
    assert code(client, topic, batch(bytes(1_000_000))) == E.NONE
    assert code(client, topic, batch(bytes(1_200_000))) == E.RECORD_LIST_TOO_LARGE


def test_partial_batch_after_a_complete_one_is_ignored(client: RequestClient, topic: Named) -> None:
    assert code(client, topic, VALID + VALID[:40]) == E.NONE
    assert end(client, topic) == 2


@pytest.mark.parametrize("version", [3, 6, 7, 13])
@pytest.mark.parametrize("codec", list(Codec))
def test_zstd_needs_version_7(client: RequestClient, topic: Named, version: int, codec: Codec) -> None:
    refused = codec is Codec.ZSTD and version < 7
    expected = E.UNSUPPORTED_COMPRESSION_TYPE if refused else E.NONE
    assert code(client, topic, batch(b"x" * 100, codec=codec), version) == expected


@pytest.mark.parametrize("acks", [2, -2, 17])
def test_other_values_of_acks_are_refused(client: RequestClient, topic: Named, acks: int) -> None:
    assert code(client, topic, VALID, acks=acks) == E.INVALID_REQUIRED_ACKS
    assert end(client, topic) == 0


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("timeout_ms", [0, -1, 30_000])
def test_acks_1_and_all_are_answered_with_the_offset(
    client: RequestClient, topic: Named, acks: int, timeout_ms: int
) -> None:
    one = answer(client, produce(topic, VALID, acks=acks, timeout_ms=timeout_ms))
    assert (one.error_code, one.base_offset) == (E.NONE, 0)
    assert end(client, topic) == 2


def test_acks_0_is_not_answered(client: RequestClient, topic: Named) -> None:
    """The next response on the connection is that of the next request."""
    client.send_without_response(produce(topic, VALID, acks=0), 9)
    assert answer(client, produce(topic, VALID), 9).base_offset == 2


def test_refused_batch_with_acks_0_closes_the_connection(client: RequestClient, topic: Named) -> None:
    with pytest.raises(Closed):
        client.send(produce(topic, b"rubbish", acks=0), ProduceResponse, 9)


def test_unknown_topics_partitions_and_ids_have_their_error_codes(
    client: RequestClient, topic: Named
) -> None:
    stranger = Named("missing-made-this", bytes(range(16)))
    for version in (3, 9, 12):
        assert code(client, stranger, VALID, version) == E.UNKNOWN_TOPIC_OR_PARTITION
    assert code(client, stranger, VALID, 13) == E.UNKNOWN_TOPIC_ID
    assert code(client, Named("x", bytes(16)), VALID, 13) == E.UNKNOWN_TOPIC_ID
    for partition in (1, -1):
        assert code(client, topic, VALID, partition=partition) == E.UNKNOWN_TOPIC_OR_PARTITION


def test_clients_cannot_write_to_internal_topics(client: RequestClient) -> None:
    name = "__consumer_offsets"
    client.send(MetadataRequest(topics=[MetadataRequestTopic(name=name)]), MetadataResponse, 9)
    internal = Named(name, b"")
    assert code(client, internal, VALID, 9) == E.INVALID_TOPIC_EXCEPTION
    assert answer(client, produce(internal, VALID), 9, client_id="__admin_client").error_code == E.NONE


def test_invalid_batch_does_not_affect_other_partitions(client: RequestClient, make_topic: MakeTopic) -> None:
    topic = make_topic("several", 3)
    parts = {0: VALID, 9: VALID, 1: b"rubbish", 2: VALID}
    data = [PartitionProduceData(index=at, records=memoryview(records)) for at, records in parts.items()]
    named = TopicProduceData(name=topic.name, topic_id=topic.topic_id, partition_data=data)
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[named])
    response = client.send(request, ProduceResponse, 13).responses[0].partition_responses
    assert {one.index: one.error_code for one in response} == {
        0: E.NONE,
        9: E.UNKNOWN_TOPIC_OR_PARTITION,
        1: E.INVALID_RECORD,
        2: E.NONE,
    }


def test_compacted_topic_requires_keys(client: RequestClient, make_topic: MakeTopic) -> None:
    topic = make_topic("compacted", cleanup_policy="compact")
    for codec in (Codec.NONE, Codec.LZ4):
        one = answer(client, produce(topic, batch(b"a", b"b", key=None, codec=codec)))
        assert one.error_code == E.INVALID_RECORD
        assert [fault.batch_index for fault in one.record_errors] == [0, 1]
        assert code(client, topic, batch(b"a", b"b", codec=codec)) == E.NONE


def test_timestamps_are_validated_and_set(client: RequestClient, make_topic: MakeTopic) -> None:
    strict = make_topic("strict", message_timestamp_before_max_ms="1000")
    stamped = make_topic("stamped", message_timestamp_type="LogAppendTime")
    assert code(client, strict, batch(time_ms=TIME_MS)) == E.INVALID_TIMESTAMP
    assert code(client, stamped, patched(VALID, attributes=8)) == E.INVALID_TIMESTAMP
    one = answer(client, produce(stamped, batch(time_ms=FAR_MS)))
    assert (one.error_code, one.log_append_time_ms > TIME_MS) == (E.NONE, True)


def test_sequences_are_checked(client: RequestClient, topic: Named) -> None:
    pid = client.send(idempotent(), InitProducerIdResponse).producer_id

    def send(epoch: int, sequence: int, *values: bytes) -> tuple[int, int]:
        one = answer(client, produce(topic, batch(*values, producer=(pid, epoch, sequence))))
        return one.error_code, one.base_offset

    assert send(0, 0, b"a", b"b") == (E.NONE, 0)
    assert send(0, 2, b"c") == (E.NONE, 2)
    assert send(0, 0, b"a", b"b") == (E.NONE, 0), "a duplicate has the first one's offset"
    again = answer(client, produce(topic, batch(b"a", b"b", producer=(pid, 0, 0))))
    assert again.log_append_time_ms == TIME_MS + 1, "and the time of its newest record"
    assert send(0, 0, b"a") == (E.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert send(0, 5, b"d") == (E.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert [send(0, number, b"e")[1] for number in range(3, 8)] == [3, 4, 5, 6, 7]
    assert send(0, 0, b"a", b"b")[0] == E.OUT_OF_ORDER_SEQUENCE_NUMBER, "only five are remembered"
    assert send(1, 4, b"f")[0] == E.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(1, 0, b"f") == (E.NONE, 8), "a new epoch needs no InitProducerId"
    assert send(0, 8, b"g")[0] == E.INVALID_PRODUCER_EPOCH
    assert end(client, topic) == 9


def test_duplicate_has_the_append_time_of_the_original(client: RequestClient, make_topic: MakeTopic) -> None:
    topic = make_topic("stamped", message_timestamp_type="LogAppendTime")

    def append_time_ms(producer_id: int) -> int:
        records = batch(b"a", producer=(producer_id, 0, 0))
        return answer(client, produce(topic, records)).log_append_time_ms

    first = append_time_ms(700_000)
    assert any(append_time_ms(700_001 + number) > first for number in range(10_000)), "time passes"
    assert append_time_ms(700_000) == first


def test_unknown_producer_may_start_at_any_sequence_and_sequences_wrap(
    client: RequestClient, topic: Named
) -> None:
    top = 2**31 - 1
    assert code(client, topic, batch(producer=(600_001, 4, 17))) == E.NONE
    assert code(client, topic, batch(producer=(600_002, 0, top))) == E.NONE
    assert code(client, topic, batch(producer=(600_002, 0, 0))) == E.NONE
    assert code(client, topic, batch(producer=(600_001, 4, 19))) == E.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_transactional_batches_are_refused(client: RequestClient, topic: Named) -> None:
    records = batch(producer=(7, 0, 0), transactional=True)
    assert code(client, topic, records) == E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert code(client, topic, records, transactional_id="mine") == E.INVALID_TXN_STATE
    assert end(client, topic) == 0


@pytest.mark.parametrize("wanted", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_batches_are_stored_in_the_codec_of_the_topic(
    client: RequestClient, make_topic: MakeTopic, wanted: str
) -> None:
    topic = make_topic("stored", compression_type=wanted)
    for codec in Codec:
        assert code(client, topic, batch(b"a" * 50, b"b", codec=codec)) == E.NONE
    reply = client.send(fetch(topic, part()), FetchResponse, 17).responses[0].partitions[0]
    stored = list(iter_batches(memoryview(b"".join(reply.records or ()))))
    number = Codec.NONE if wanted == "uncompressed" else Codec[wanted.upper()]
    assert [header.codec for header, _ in stored] == [number] * 5
    values = [[record.value for record in decode_batch(one)] for _, one in stored]
    assert values == [[b"a" * 50, b"b"]] * 5


@pytest.mark.parametrize("framing", [xerial.frame, snappy.compress_raw], ids=["xerial", "raw"])
def test_both_framings_of_snappy_are_accepted(
    client: RequestClient, make_topic: MakeTopic, framing: Callable[[bytes], bytes]
) -> None:
    """Java uses one, librdkafka the other."""
    plain = batch(b"a" * 50, b"b")
    packed = with_payload(patched(plain, attributes=Codec.SNAPPY), bytes(framing(plain[61:])))
    topic = make_topic("snappy", compression_type="uncompressed")
    assert code(client, topic, packed) == E.NONE
    reply = client.send(fetch(topic, part()), FetchResponse).responses[0].partitions[0]
    assert b"".join(reply.records or ())[61:] == plain[61:]


def test_batch_that_is_too_large_in_the_codec_of_the_topic_is_refused(
    client: RequestClient, make_topic: MakeTopic
) -> None:
    topic = make_topic("plain", compression_type="uncompressed", max_message_bytes="400")
    bomb = batch(b"a" * 1000, codec=Codec.ZSTD)
    assert len(bomb) < 400
    assert code(client, topic, bomb) == E.MESSAGE_TOO_LARGE
    rubbish = with_payload(batch(codec=Codec.GZIP), b"no gzip")
    assert code(client, topic, rubbish) == E.INVALID_RECORD


class _Stuck:
    """A log whose store does not respond."""

    def try_append(self, *_: object, **__: object) -> None:
        return None

    async def append(self, *_: object, **__: object) -> "asyncio.Future[Any]":
        return asyncio.get_running_loop().create_future()


@on_broker
async def test_batch_that_is_not_durable_in_time_returns_request_timed_out(broker: Broker) -> None:
    made = await broker.make_topic()
    stuck = Broker(replace(broker.services, log=cast("Any", _Stuck())), broker.tasks, broker.registration)
    began = broker.services.clock.monotonic()
    request = produce(Named(made.name, made.topic_id), VALID, timeout_ms=5000)
    response = (await stuck.ask(ProduceResponse, request)).responses[0].partition_responses[0]
    assert (response.error_code, response.base_offset) == (E.REQUEST_TIMED_OUT, -1)
    assert broker.services.clock.monotonic() - began == pytest.approx(5)


class _Promised:
    """A log whose appends the test completes."""

    def __init__(self) -> None:
        self.promises: list[asyncio.Future[Appended]] = []

    def try_append(self, *_: object, **__: object) -> None:
        return None

    async def append(self, *_: object, **__: object) -> "asyncio.Future[Appended]":
        self.promises.append(asyncio.get_running_loop().create_future())
        return self.promises[-1]


@on_broker
async def test_late_failure_with_acks_0_closes_the_connection(broker: Broker) -> None:
    made = await broker.make_topic()
    log, hung_up = _Promised(), list[str]()
    services = replace(broker.services, log=cast("Any", log))
    dispatcher = Dispatcher(services, ApiMetrics.on(Metrics()))
    frame = frame_of(produce(Named(made.name, made.topic_id), VALID, acks=0), 9)
    for _ in range(2):
        finish = await dispatcher.begin(memoryview(frame), PEER._replace(disconnect=hung_up.append))
        assert await finish() is None, "the connection continues without waiting for it"
    log.promises[0].set_result(Appended(0, 0))
    await asyncio.sleep(0)
    assert hung_up == []
    log.promises[1].set_exception(NotStored("the store is away"))
    await asyncio.sleep(0)
    assert hung_up == ["acks=0 and KAFKA_STORAGE_ERROR for t-0"]
