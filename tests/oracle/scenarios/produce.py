"""Produce: accepted and rejected batches, and error codes.

Null records are not included: Kafka never responds to them.
"""

from itertools import count

from dray.records import decode_batch, iter_batches
from dray.wire.apis.fetch import FetchResponse
from dray.wire.apis.init_producer_id import InitProducerIdResponse
from dray.wire.apis.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from tests.oracle.batches import TIME_MS, batch, patched, with_payload
from tests.oracle.requests import Named, fetch, idempotent, part, produce
from tests.oracle.transcripts import ResponseRecorder

VERSIONS = (3, 5, 8, 9, 12, 13)
GARBAGE = bytes(range(200))


def every_version(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("versions")
    for version in range(3, 14):
        recorder.send(produce(topic, batch(b"a", b"b")), ProduceResponse, version, "two records")


def invalid_batches(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("invalid", max_message_bytes="2000")
    valid = batch(b"one", b"two")
    cases = {
        "empty": b"",
        "garbage": GARBAGE,
        "zeros": bytes(100),
        "eleven bytes": valid[:11],
        "sixteen bytes": valid[:16],
        "half a batch": valid[:-10],
        "a batch and half a batch": valid + valid[:30],
        "two batches": valid + valid,
        "magic 0": patched(valid, magic=0),
        "magic 1": patched(valid, magic=1),
        "magic 3": patched(valid, magic=3),
        "magic -1": patched(valid, magic=-1),
        "batch length 13": patched(valid, batch_length=13),
        "batch length 14": patched(valid, batch_length=14),
        "batch length 48": patched(valid, batch_length=48),
        "batch length -1": patched(valid, batch_length=-1),
        "wrong crc": patched(valid, crc=1, keep_crc=True),
        "base offset 5": patched(valid, base_offset=5),
        "too large": batch(b"x" * 2000),
        "too large and wrong crc": patched(batch(b"x" * 2000), crc=1, keep_crc=True),
        "count 0": patched(valid, record_count=0, last_offset_delta=-1),
        "count 0, delta 0": patched(valid, record_count=0, last_offset_delta=0),
        "count 1 of 2": patched(valid, record_count=1, last_offset_delta=0),
        "count 3 of 2": patched(valid, record_count=3, last_offset_delta=2),
        "count unlike delta": patched(valid, record_count=2, last_offset_delta=5),
        "negative delta": patched(valid, last_offset_delta=-5),
        "control": batch(control=True),
        "producer without sequence": patched(valid, producer_id=5, producer_epoch=0, base_sequence=-1),
        "payload of rubbish": with_payload(valid, GARBAGE),
        "payload too long": with_payload(valid, valid[61:] + b"\x00"),
        "payload missing": with_payload(valid, b""),
        "transactional": batch(transactional=True),
        "unknown codec": patched(valid, attributes=5),
        "gzip that is none": patched(valid, attributes=1),
    }
    for label, records in cases.items():
        for version in (5, 13):
            recorder.send(produce(topic, records), ProduceResponse, version, label)


def segments(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("segments", max_message_bytes="3000000", segment_bytes="1048576")
    for size in (1_000_000, 1_200_000, 3_000_000):
        recorder.send(produce(topic, batch(bytes(size))), ProduceResponse, 9, f"{size} bytes")


def codecs(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("codecs")
    for codec in range(5):
        for version in (3, 6, 7, 13):
            recorder.send(
                produce(topic, batch(b"a" * 100, codec=codec)), ProduceResponse, version, f"codec {codec}"
            )


def timestamps(recorder: ResponseRecorder) -> None:
    plain = recorder.topic("create-time", message_timestamp_before_max_ms="3600000")
    stamped = recorder.topic("append-time", message_timestamp_type="LogAppendTime")
    lenient = recorder.topic("lenient")
    far = 4_102_444_800_000
    cases = {
        "old": batch(time_ms=TIME_MS),
        "from the future": batch(time_ms=far),
        "none": patched(batch(time_ms=-1), base_timestamp=-1, max_timestamp=-1),
        "stamped by the client": patched(batch(), attributes=8),
    }
    for name, topic in {"create time": plain, "append time": stamped, "the default": lenient}.items():
        for label, records in cases.items():
            recorder.send(produce(topic, records), ProduceResponse, 9, f"{label} to {name}")


def acks(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("acks")
    for wanted in (1, -1, 2, -2, 17):
        recorder.send(produce(topic, batch(), acks=wanted), ProduceResponse, 9, f"acks {wanted}")
    for timeout_ms in (0, -1, 1):
        request = produce(topic, batch(), timeout_ms=timeout_ms)
        recorder.send(request, ProduceResponse, 9, f"time limit {timeout_ms}")
    recorder.client.send_without_response(produce(topic, batch(), acks=0), 9)
    recorder.send(produce(topic, batch()), ProduceResponse, 9, "after acks 0")
    recorder.send(produce(topic, GARBAGE, acks=0), ProduceResponse, 9, "garbage with acks 0 closes")


def unknown(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("known")
    stranger = Named(recorder.named("stranger"), bytes(range(16)))
    for version in (3, 9, 12, 13):
        recorder.send(produce(stranger, batch()), ProduceResponse, version, "unknown topic")
        recorder.send(produce(topic, batch(), partition=7), ProduceResponse, version, "unknown partition")
        recorder.send(produce(topic, batch(), partition=-1), ProduceResponse, version, "negative partition")
    recorder.send(produce(Named("x", bytes(16)), batch()), ProduceResponse, 13, "the zero id")
    recorder.send(produce(Named("", b""), batch()), ProduceResponse, 9, "the empty name")
    recorder.send(produce(Named("a/b", b""), batch()), ProduceResponse, 9, "a name that cannot be")
    recorder.send(ProduceRequest(acks=-1, timeout_ms=1000), ProduceResponse, 9, "nothing at all")


def several_partitions(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("several", partitions=3)
    parts = [
        PartitionProduceData(index=0, records=memoryview(batch(b"zero"))),
        PartitionProduceData(index=9, records=memoryview(batch(b"nine"))),
        PartitionProduceData(index=1, records=memoryview(GARBAGE)),
        PartitionProduceData(index=2, records=memoryview(batch(b"two"))),
    ]
    for version in VERSIONS:
        named = TopicProduceData(name=topic.name, topic_id=topic.topic_id, partition_data=parts)
        request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[named])
        recorder.send(request, ProduceResponse, version, "some bad ones")


def compacted(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("compacted", cleanup_policy="compact")
    recorder.send(produce(topic, batch(b"v")), ProduceResponse, 9, "with a key")
    recorder.send(produce(topic, batch(b"a", b"b", key=None)), ProduceResponse, 9, "without keys")


def sequences(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("sequences")
    recorder.await_producer_ids()
    made = recorder.send(idempotent(), InitProducerIdResponse, 4)
    assert made is not None
    assert made.error_code == 0
    pid = made.producer_id

    def send(label: str, epoch: int, sequence: int, *values: bytes) -> None:
        records = batch(*values, producer=(pid, epoch, sequence))
        recorder.send(produce(topic, records), ProduceResponse, 9, label)

    send("first", 0, 0, b"a", b"b")
    send("second", 0, 2, b"c")
    send("duplicate of the first", 0, 0, b"a", b"b")
    send("same start, other end", 0, 0, b"a")
    send("a gap", 0, 9, b"d")
    for sequence in range(3, 8):
        send(f"number {sequence}", 0, sequence, b"e")
    send("a duplicate that is forgotten", 0, 0, b"a", b"b")
    send("a new epoch from nowhere must begin with 0", 1, 5, b"f")
    send("a new epoch from nowhere", 1, 0, b"f")
    send("the old epoch", 0, 8, b"g")
    send("the new epoch continues", 1, 1, b"h")
    send("two epochs on", 3, 0, b"i")
    send("negative epoch", -1, 0, b"j")


def duplicates(recorder: ResponseRecorder) -> None:
    """Append times of duplicate batches: the times differ between brokers, but which are equal does not."""
    for kind in ("CreateTime", "LogAppendTime"):
        topic = recorder.topic(f"duplicates-{kind.lower()}", message_timestamp_type=kind)
        first = _append_time(recorder, topic, 0)
        others = (_append_time(recorder, topic, number) for number in count(1))
        later = next(time_ms for time_ms in others if time_ms == -1 or time_ms > first)
        again = _append_time(recorder, topic, 0)
        recorder.note(
            kind,
            is_stamped=first > 0,
            again_is_the_first=again == first,
            again_is_its_newest_record=again == TIME_MS + 1,
            again_is_later=again >= later > 0,
        )


def _append_time(recorder: ResponseRecorder, topic: Named, number: int) -> int:
    """Send the first two records of a producer and return their append time from the response."""
    records = batch(b"a", b"b", producer=(800_000 + number, 0, 0))
    response = recorder.client.send(produce(topic, records), ProduceResponse, 9)
    one = response.responses[0].partition_responses[0]
    assert one.error_code == 0
    return one.log_append_time_ms


def strangers(recorder: ResponseRecorder) -> None:
    """An unknown producer may start at any sequence number; numbers wrap around."""
    topic = recorder.topic("strangers")
    top = 2**31 - 1
    for label, producer in {
        "in the middle": (900_001, 4, 17),
        "and on": (900_001, 4, 18),
        "the last number": (900_002, 0, top),
        "wrapped": (900_002, 0, 0),
        "not wrapped": (900_003, 0, top),
        "one too far": (900_003, 0, 1),
    }.items():
        recorder.send(produce(topic, batch(producer=producer)), ProduceResponse, 9, label)


def transactions(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("transactions")
    records = batch(producer=(7, 0, 0), transactional=True)
    for version in (5, 9, 11, 12, 13):
        recorder.send(produce(topic, records), ProduceResponse, version, "without a transactional id")
        request = produce(topic, records, transactional_id="absent")
        recorder.send(request, ProduceResponse, version, "of no transaction")
    request = produce(topic, batch(), transactional_id="absent")
    recorder.send(request, ProduceResponse, 9, "plain records with a transactional id")


def stored_codecs(recorder: ResponseRecorder) -> None:
    """Compressed bytes differ between libraries; their codec and contents must not."""
    for wanted in ("uncompressed", "gzip", "snappy", "lz4", "zstd"):
        topic = recorder.topic(f"stored-{wanted}", compression_type=wanted, max_message_bytes="400")
        for codec in range(5):
            request = produce(topic, batch(b"a" * 100, b"b" * 100, codec=codec))
            recorder.send(request, ProduceResponse, 9, f"codec {codec} to {wanted}")
        bomb = produce(topic, batch(b"a" * 1000, codec=4))
        recorder.send(bomb, ProduceResponse, 9, f"larger than allowed only once it is {wanted}")
        came = recorder.client.send(fetch(topic, part()), FetchResponse, 17).responses[0].partitions[0]
        stored = memoryview(b"".join(came.records or ()))
        recorder.note(
            f"stored as {wanted}",
            codecs=[header.codec for header, _ in iter_batches(stored)],
            offsets=[header.base_offset for header, _ in iter_batches(stored)],
            records=[decode_batch(one) for _, one in iter_batches(stored)],
        )


SCENARIOS = (
    every_version,
    invalid_batches,
    segments,
    codecs,
    timestamps,
    acks,
    unknown,
    several_partitions,
    compacted,
    sequences,
    duplicates,
    strangers,
    transactions,
    stored_codecs,
)
