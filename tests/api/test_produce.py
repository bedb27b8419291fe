"""Produce over a real socket: every fault earns the code that Kafka gives it, and only that batch suffers.

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
from tests.oracle.asking import Asker, Closed, frame_of
from tests.oracle.batches import TIME_MS, batch, patched, with_payload
from tests.oracle.requests import LATEST, Named, fetch, idempotent, offsets, part, produce

SOUND = batch(b"one", b"two")
SMALL = 2000
FAR_MS = 4_102_444_800_000


def answer(
    asker: Asker, request: ProduceRequest, version: int = 13, client_id: str = "test"
) -> PartitionProduceResponse:
    came = asker.ask(request, ProduceResponse, version, client_id=client_id)
    (topic,) = came.responses
    (one,) = topic.partition_responses
    return one


def code(asker: Asker, topic: Named, records: bytes | None, version: int = 13, **more: Any) -> int:
    return answer(asker, produce(topic, records, **more), version).error_code


def end(asker: Asker, topic: Named) -> int:
    return asker.ask(offsets(topic.name, LATEST), ListOffsetsResponse).topics[0].partitions[0].offset


@pytest.mark.parametrize("version", range(3, 14))
def test_a_sound_batch_is_taken_in_every_version(asker: Asker, topic: Named, version: int) -> None:
    first = answer(asker, produce(topic, SOUND), version)
    second = answer(asker, produce(topic, SOUND), version)
    assert (first.error_code, first.base_offset, first.log_append_time_ms) == (E.NONE, 0, -1)
    assert (second.base_offset, second.log_start_offset) == (2, 0 if version >= 5 else -1)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        pytest.param(None, E.INVALID_RECORD, id="null"),
        pytest.param(b"", E.INVALID_RECORD, id="empty"),
        pytest.param(bytes(range(200)), E.CORRUPT_MESSAGE, id="garbage"),
        pytest.param(bytes(100), E.CORRUPT_MESSAGE, id="zeros"),
        pytest.param(SOUND[:11], E.INVALID_RECORD, id="eleven bytes"),
        pytest.param(SOUND[:-1], E.INVALID_RECORD, id="a byte is missing"),
        pytest.param(SOUND + SOUND, E.INVALID_RECORD, id="two batches"),
        pytest.param(patched(SOUND, batch_length=13), E.CORRUPT_MESSAGE, id="length 13"),
        pytest.param(patched(SOUND, magic=0), E.INVALID_RECORD, id="magic 0"),
        pytest.param(patched(SOUND, magic=1), E.INVALID_RECORD, id="magic 1"),
        pytest.param(patched(SOUND, magic=3), E.CORRUPT_MESSAGE, id="magic 3"),
        pytest.param(patched(SOUND, crc=7, keep_crc=True), E.CORRUPT_MESSAGE, id="wrong crc"),
        pytest.param(patched(SOUND, base_offset=5), E.INVALID_RECORD, id="base offset"),
        pytest.param(batch(b"x" * SMALL), E.MESSAGE_TOO_LARGE, id="too large"),
        pytest.param(patched(SOUND, record_count=0), E.INVALID_RECORD, id="count 0"),
        pytest.param(patched(SOUND, record_count=3), E.INVALID_RECORD, id="count unlike delta"),
        pytest.param(patched(SOUND, last_offset_delta=-2), E.INVALID_RECORD, id="negative delta"),
        pytest.param(
            patched(SOUND, record_count=1, last_offset_delta=0),
            E.INVALID_RECORD,
            id="more records than counted",
        ),
        pytest.param(
            patched(SOUND, record_count=3, last_offset_delta=2), E.INVALID_RECORD, id="fewer than counted"
        ),
        pytest.param(with_payload(SOUND, b"\xff" * 40), E.INVALID_RECORD, id="rubbish for records"),
        pytest.param(with_payload(SOUND, b""), E.INVALID_RECORD, id="no records"),
        pytest.param(batch(control=True), E.INVALID_RECORD, id="control"),
        pytest.param(batch(producer=(5, 0, -1)), E.INVALID_RECORD, id="producer without sequence"),
        pytest.param(patched(SOUND, attributes=5), E.UNSUPPORTED_COMPRESSION_TYPE, id="unknown codec"),
        pytest.param(batch(time_ms=FAR_MS), E.INVALID_TIMESTAMP, id="from the future"),
        pytest.param(batch(transactional=True), E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, id="transactional"),
    ],
)
def test_an_unsound_batch_is_refused(
    asker: Asker, make_topic: MakeTopic, records: bytes | None, expected: E
) -> None:
    topic = make_topic("unsound", max_message_bytes=str(SMALL))
    one = answer(asker, produce(topic, records))
    assert (one.error_code, one.base_offset) == (expected, -1)
    assert end(asker, topic) == 0, "nothing of it was kept"
    assert code(asker, topic, SOUND) == E.NONE, "the next one is taken"


def test_a_batch_larger_than_a_segment_is_refused(asker: Asker, make_topic: MakeTopic) -> None:
    topic = make_topic("segments", max_message_bytes="3000000", segment_bytes="1048576")
    assert code(asker, topic, batch(bytes(1_000_000))) == E.NONE
    assert code(asker, topic, batch(bytes(1_200_000))) == E.RECORD_LIST_TOO_LARGE


def test_half_a_batch_behind_a_whole_one_is_left_out(asker: Asker, topic: Named) -> None:
    assert code(asker, topic, SOUND + SOUND[:40]) == E.NONE
    assert end(asker, topic) == 2


@pytest.mark.parametrize("version", [3, 6, 7, 13])
@pytest.mark.parametrize("codec", list(Codec))
def test_zstd_needs_version_7(asker: Asker, topic: Named, version: int, codec: Codec) -> None:
    refused = codec is Codec.ZSTD and version < 7
    expected = E.UNSUPPORTED_COMPRESSION_TYPE if refused else E.NONE
    assert code(asker, topic, batch(b"x" * 100, codec=codec), version) == expected


@pytest.mark.parametrize("acks", [2, -2, 17])
def test_other_acks_are_refused(asker: Asker, topic: Named, acks: int) -> None:
    assert code(asker, topic, SOUND, acks=acks) == E.INVALID_REQUIRED_ACKS
    assert end(asker, topic) == 0


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("timeout_ms", [0, -1, 30_000])
def test_acks_1_and_all_are_answered_with_the_offset(
    asker: Asker, topic: Named, acks: int, timeout_ms: int
) -> None:
    one = answer(asker, produce(topic, SOUND, acks=acks, timeout_ms=timeout_ms))
    assert (one.error_code, one.base_offset) == (E.NONE, 0)
    assert end(asker, topic) == 2


def test_acks_0_is_not_answered(asker: Asker, topic: Named) -> None:
    """The next answer on the connection is the next request's."""
    asker.tell(produce(topic, SOUND, acks=0), 9)
    assert answer(asker, produce(topic, SOUND), 9).base_offset == 2


def test_with_acks_0_a_refusal_closes_the_connection(asker: Asker, topic: Named) -> None:
    with pytest.raises(Closed):
        asker.ask(produce(topic, b"rubbish", acks=0), ProduceResponse, 9)


def test_unknown_topics_partitions_and_ids(asker: Asker, topic: Named) -> None:
    stranger = Named("nobody-made-this", bytes(range(16)))
    for version in (3, 9, 12):
        assert code(asker, stranger, SOUND, version) == E.UNKNOWN_TOPIC_OR_PARTITION
    assert code(asker, stranger, SOUND, 13) == E.UNKNOWN_TOPIC_ID
    assert code(asker, Named("x", bytes(16)), SOUND, 13) == E.UNKNOWN_TOPIC_ID
    for partition in (1, -1):
        assert code(asker, topic, SOUND, partition=partition) == E.UNKNOWN_TOPIC_OR_PARTITION


def test_kafkas_own_topics_are_not_written_to(asker: Asker) -> None:
    name = "__consumer_offsets"
    asker.ask(MetadataRequest(topics=[MetadataRequestTopic(name=name)]), MetadataResponse, 9)
    internal = Named(name, b"")
    assert code(asker, internal, SOUND, 9) == E.INVALID_TOPIC_EXCEPTION
    assert answer(asker, produce(internal, SOUND), 9, client_id="__admin_client").error_code == E.NONE


def test_one_bad_partition_does_not_harm_the_others(asker: Asker, make_topic: MakeTopic) -> None:
    topic = make_topic("several", 3)
    parts = {0: SOUND, 9: SOUND, 1: b"rubbish", 2: SOUND}
    data = [PartitionProduceData(index=at, records=memoryview(records)) for at, records in parts.items()]
    named = TopicProduceData(name=topic.name, topic_id=topic.topic_id, partition_data=data)
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[named])
    told = asker.ask(request, ProduceResponse, 13).responses[0].partition_responses
    assert {one.index: one.error_code for one in told} == {
        0: E.NONE,
        9: E.UNKNOWN_TOPIC_OR_PARTITION,
        1: E.INVALID_RECORD,
        2: E.NONE,
    }


def test_a_compacted_topic_wants_keys(asker: Asker, make_topic: MakeTopic) -> None:
    topic = make_topic("compacted", cleanup_policy="compact")
    for codec in (Codec.NONE, Codec.LZ4):
        one = answer(asker, produce(topic, batch(b"a", b"b", key=None, codec=codec)))
        assert one.error_code == E.INVALID_RECORD
        assert [fault.batch_index for fault in one.record_errors] == [0, 1]
        assert code(asker, topic, batch(b"a", b"b", codec=codec)) == E.NONE


def test_timestamps(asker: Asker, make_topic: MakeTopic) -> None:
    strict = make_topic("strict", message_timestamp_before_max_ms="1000")
    stamped = make_topic("stamped", message_timestamp_type="LogAppendTime")
    assert code(asker, strict, batch(time_ms=TIME_MS)) == E.INVALID_TIMESTAMP
    assert code(asker, stamped, patched(SOUND, attributes=8)) == E.INVALID_TIMESTAMP
    one = answer(asker, produce(stamped, batch(time_ms=FAR_MS)))
    assert (one.error_code, one.log_append_time_ms > TIME_MS) == (E.NONE, True)


def test_sequences(asker: Asker, topic: Named) -> None:
    pid = asker.ask(idempotent(), InitProducerIdResponse).producer_id

    def send(epoch: int, sequence: int, *values: bytes) -> tuple[int, int]:
        one = answer(asker, produce(topic, batch(*values, producer=(pid, epoch, sequence))))
        return one.error_code, one.base_offset

    assert send(0, 0, b"a", b"b") == (E.NONE, 0)
    assert send(0, 2, b"c") == (E.NONE, 2)
    assert send(0, 0, b"a", b"b") == (E.NONE, 0), "a duplicate has the first one's offset"
    again = answer(asker, produce(topic, batch(b"a", b"b", producer=(pid, 0, 0))))
    assert again.log_append_time_ms == TIME_MS + 1, "and the time of its newest record"
    assert send(0, 0, b"a") == (E.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert send(0, 5, b"d") == (E.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert [send(0, number, b"e")[1] for number in range(3, 8)] == [3, 4, 5, 6, 7]
    assert send(0, 0, b"a", b"b")[0] == E.OUT_OF_ORDER_SEQUENCE_NUMBER, "only five are remembered"
    assert send(1, 4, b"f")[0] == E.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(1, 0, b"f") == (E.NONE, 8), "a new epoch needs no InitProducerId"
    assert send(0, 8, b"g")[0] == E.INVALID_PRODUCER_EPOCH
    assert end(asker, topic) == 9


def test_a_duplicate_was_appended_when_the_first_was(asker: Asker, make_topic: MakeTopic) -> None:
    topic = make_topic("stamped", message_timestamp_type="LogAppendTime")

    def append_time_ms(producer_id: int) -> int:
        records = batch(b"a", producer=(producer_id, 0, 0))
        return answer(asker, produce(topic, records)).log_append_time_ms

    first = append_time_ms(700_000)
    assert any(append_time_ms(700_001 + number) > first for number in range(10_000)), "time passes"
    assert append_time_ms(700_000) == first


def test_a_producer_nobody_knows_may_begin_anywhere_and_numbers_wrap(asker: Asker, topic: Named) -> None:
    top = 2**31 - 1
    assert code(asker, topic, batch(producer=(600_001, 4, 17))) == E.NONE
    assert code(asker, topic, batch(producer=(600_002, 0, top))) == E.NONE
    assert code(asker, topic, batch(producer=(600_002, 0, 0))) == E.NONE
    assert code(asker, topic, batch(producer=(600_001, 4, 19))) == E.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_batches_of_a_transaction_are_refused(asker: Asker, topic: Named) -> None:
    records = batch(producer=(7, 0, 0), transactional=True)
    assert code(asker, topic, records) == E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert code(asker, topic, records, transactional_id="mine") == E.INVALID_TXN_STATE
    assert end(asker, topic) == 0


@pytest.mark.parametrize("wanted", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_a_topic_stores_in_its_own_codec(asker: Asker, make_topic: MakeTopic, wanted: str) -> None:
    topic = make_topic("stored", compression_type=wanted)
    for codec in Codec:
        assert code(asker, topic, batch(b"a" * 50, b"b", codec=codec)) == E.NONE
    came = asker.ask(fetch(topic, part()), FetchResponse, 17).responses[0].partitions[0]
    stored = list(iter_batches(memoryview(b"".join(came.records or ()))))
    number = Codec.NONE if wanted == "uncompressed" else Codec[wanted.upper()]
    assert [header.codec for header, _ in stored] == [number] * 5
    values = [[record.value for record in decode_batch(one)] for _, one in stored]
    assert values == [[b"a" * 50, b"b"]] * 5


@pytest.mark.parametrize("framing", [xerial.frame, snappy.compress_raw], ids=["xerial", "raw"])
def test_both_framings_of_snappy_are_read(
    asker: Asker, make_topic: MakeTopic, framing: Callable[[bytes], bytes]
) -> None:
    """Java writes one, librdkafka the other."""
    plain = batch(b"a" * 50, b"b")
    packed = with_payload(patched(plain, attributes=Codec.SNAPPY), bytes(framing(plain[61:])))
    topic = make_topic("snappy", compression_type="uncompressed")
    assert code(asker, topic, packed) == E.NONE
    came = asker.ask(fetch(topic, part()), FetchResponse).responses[0].partitions[0]
    assert b"".join(came.records or ())[61:] == plain[61:]


def test_what_grows_too_large_in_the_topics_codec_is_refused(asker: Asker, make_topic: MakeTopic) -> None:
    topic = make_topic("plain", compression_type="uncompressed", max_message_bytes="400")
    bomb = batch(b"a" * 1000, codec=Codec.ZSTD)
    assert len(bomb) < 400
    assert code(asker, topic, bomb) == E.MESSAGE_TOO_LARGE
    rubbish = with_payload(batch(codec=Codec.GZIP), b"no gzip")
    assert code(asker, topic, rubbish) == E.INVALID_RECORD


class _Stuck:
    """A log whose store does not answer."""

    async def append(self, *_: object, **__: object) -> "asyncio.Future[Any]":
        return asyncio.get_running_loop().create_future()


@on_broker
async def test_what_is_not_durable_in_time_is_told_so(broker: Broker) -> None:
    made = await broker.make_topic()
    stuck = Broker(replace(broker.services, log=cast("Any", _Stuck())), broker.tasks, broker.registration)
    began = broker.services.clock.monotonic()
    request = produce(Named(made.name, made.topic_id), SOUND, timeout_ms=5000)
    told = (await stuck.ask(ProduceResponse, request)).responses[0].partition_responses[0]
    assert (told.error_code, told.base_offset) == (E.REQUEST_TIMED_OUT, -1)
    assert broker.services.clock.monotonic() - began == pytest.approx(5)


class _Promised:
    """A log that takes batches and says later what became of them."""

    def __init__(self) -> None:
        self.promises: list[asyncio.Future[Appended]] = []

    async def append(self, *_: object, **__: object) -> "asyncio.Future[Appended]":
        self.promises.append(asyncio.get_running_loop().create_future())
        return self.promises[-1]


@on_broker
async def test_with_acks_0_a_late_failure_closes_the_connection_too(broker: Broker) -> None:
    made = await broker.make_topic()
    log, hung_up = _Promised(), list[str]()
    services = replace(broker.services, log=cast("Any", log))
    dispatcher = Dispatcher(services, ApiMetrics.on(Metrics()))
    frame = frame_of(produce(Named(made.name, made.topic_id), SOUND, acks=0), 9)
    for _ in range(2):
        finish = await dispatcher.begin(memoryview(frame), PEER._replace(hang_up=hung_up.append))
        assert await finish() is None, "the connection goes on without waiting for it"
    log.promises[0].set_result(Appended(0, 0))
    await asyncio.sleep(0)
    assert hung_up == []
    log.promises[1].set_exception(NotStored("the store is away"))
    await asyncio.sleep(0)
    assert hung_up == ["acks=0 and KAFKA_STORAGE_ERROR for t-0"]
