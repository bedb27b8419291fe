"""Reading beside brokers that fail: every record once, in order, up to the exact end."""

from collections.abc import Callable
from contextlib import closing

import pytest

from dray.client import Admin, BrokerError, ClientError, ReadRange, RecordReader, Unreadable
from dray.records import Record, encode_batch
from dray.wire import ErrorCode, Message
from dray.wire.apis.fetch import FETCH, FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from dray.wire.apis.list_offsets import (
    LIST_OFFSETS,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tests.client.scripted_broker import HANG_UP, TOPIC, Say, ScriptedBroker, scripted
from tests.oracle.batches import resealed

pytestmark = pytest.mark.slow

BATCH = 4
END = 40
LOG_END = 1000


def batch_at(offset: int) -> bytes:
    """The batch of an offset: records 0…3, 4…7, and so on, each with its offset as value."""
    first = offset - offset % BATCH
    return encode_batch([Record(one, 0, None, b"%d" % one) for one in range(first, first + BATCH)])


def answer(**fields: object) -> FetchResponse:
    known = {"high_watermark": LOG_END, "last_stable_offset": LOG_END, "log_start_offset": 0, "records": []}
    partition = PartitionData(**(known | fields))  # type: ignore[arg-type]
    return FetchResponse(responses=[FetchableTopicResponse(topic=TOPIC, partitions=[partition])])


def offset_of(request: Message) -> int:
    assert isinstance(request, FetchRequest)
    return request.topics[0].partitions[0].fetch_offset


def serving(fault: Callable[[int], Say], log_start: int = 0) -> ScriptedBroker:
    """A broker that serves batches, unless `fault` returns an answer for the n-th request."""
    broker, seen = ScriptedBroker(), iter(range(10_000))

    def fetch(request: Message) -> Say:
        if not (isinstance(request, FetchRequest) and request.topics):
            return FetchResponse(responses=[])
        fault_answer = fault(next(seen))
        return answer(records=[batch_at(offset_of(request))]) if fault_answer is None else fault_answer

    def list_offsets(request: Message) -> Say:
        assert isinstance(request, ListOffsetsRequest)
        earliest = request.topics[0].partitions[0].timestamp == -2
        partition = ListOffsetsPartitionResponse(offset=log_start if earliest else LOG_END)
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name=TOPIC, partitions=[partition])])

    broker.on(FETCH.key, fetch)
    broker.on(LIST_OFFSETS.key, list_offsets)
    return broker


def read(admin: Admin, wanted: ReadRange, warnings: list[str] | None = None) -> list[int]:
    """Read a range to its end."""
    warn = (list[str]() if warnings is None else warnings).append
    found: list[int] = []
    with closing(RecordReader(admin.config, TOPIC, [wanted], warn)) as reader:
        while not reader.done:
            for record in reader.poll(0.1):
                assert record.value == b"%d" % record.offset
                found.append(record.offset)
    return found


def once(number: int, say: Say) -> Callable[[int], Say]:
    return lambda seen: say if seen == number else None


@pytest.mark.parametrize(
    "fault",
    [
        once(-1, None),
        once(2, answer(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)),
        once(3, HANG_UP),
        once(1, answer(records=[])),
        once(2, answer(records=[batch_at(8), batch_at(12)[:-1]])),
        once(2, answer(records=[batch_at(8), batch_at(12)[:20]])),
    ],
    ids=["none", "not the leader", "hung up", "empty", "truncated batch", "truncated header"],
)
def test_every_record_is_read_once(fault: Callable[[int], Say]) -> None:
    with scripted(serving(fault)) as admin:
        assert read(admin, ReadRange(0, 0, END)) == list(range(END))


@pytest.mark.parametrize(("start", "end"), [(0, 4), (1, 4), (3, 5), (5, 7), (6, 6)])
def test_ranges_that_start_and_end_inside_batches(start: int, end: int) -> None:
    with scripted(serving(once(-1, None))) as admin:
        assert read(admin, ReadRange(0, start, end)) == list(range(start, end))


def test_control_batches_are_not_returned() -> None:
    marker = encode_batch([Record(8, 0, b"\0\0\0\1", b"")], control=True, transactional=True)
    records = encode_batch([Record(9, 0, None, b"9")])
    broker = serving(once(2, answer(records=[marker, records])))
    with scripted(broker) as admin:
        assert read(admin, ReadRange(0, 0, 12)) == [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11]


def test_range_that_ends_with_a_control_batch_ends() -> None:
    marker = encode_batch([Record(4, 0, b"\0\0\0\1", b"")], control=True, transactional=True)
    ended = {"high_watermark": 5, "last_stable_offset": 5}
    broker = serving(lambda seen: answer(records=[batch_at(0), marker] if seen == 0 else [], **ended))
    with scripted(broker) as admin:
        assert read(admin, ReadRange(0, 0, 5)) == [0, 1, 2, 3]


def test_deleted_offsets_are_skipped_with_a_warning() -> None:
    warnings = list[str]()
    deleted = answer(error_code=ErrorCode.OFFSET_OUT_OF_RANGE, log_start_offset=20)
    broker = serving(once(1, deleted), log_start=20)
    with scripted(broker) as admin:
        assert read(admin, ReadRange(0, 0, 24), warnings) == [0, 1, 2, 3, 20, 21, 22, 23]
    assert warnings == ["partition 0: offsets 4 to 19 have been deleted; continuing at 20"]


@pytest.mark.parametrize(
    ("say", "kind", "message"),
    [
        (answer(error_code=ErrorCode.OFFSET_OUT_OF_RANGE), BrokerError, "OFFSET_OUT_OF_RANGE"),
        (answer(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED), BrokerError, "TOPIC_AUTHORIZATION_FAILED"),
        (
            answer(records=[batch_at(0)[:-1] + b"?"]),
            Unreadable,
            "offset 0: the records there cannot be read: .*CRC",
        ),
    ],
    ids=["out of range", "not authorized", "corrupt"],
)
def test_permanent_error_is_raised(say: Say, kind: type[ClientError], message: str) -> None:
    with scripted(serving(lambda _: say), timeout_s=2) as admin, pytest.raises(kind, match=message):
        read(admin, ReadRange(0, 0, END))


def test_record_with_a_header_key_that_is_not_utf_8_is_read_without_headers() -> None:
    warnings = list[str]()
    strange = encode_batch([Record(one, 0, None, b"%d" % one, (("h", b"v"),)) for one in range(BATCH)])
    strange = resealed(strange.replace(b"\x02h\x02v", b"\x02\xff\x02v"))
    broker = serving(lambda seen: answer(records=[strange]) if seen == 0 else None)
    with scripted(broker) as admin:
        assert read(admin, ReadRange(0, 0, END), warnings) == list(range(END))
    (warning,) = warnings
    assert warning.startswith("partition 0, offset 0: a header key is not UTF-8")


@pytest.mark.parametrize(("end", "last"), [(END, END - 1), (None, LOG_END - 1)], ids=["ends", "follows"])
def test_records_that_the_broker_cannot_read_are_reported(end: int | None, last: int) -> None:
    damaged = answer(error_code=ErrorCode.KAFKA_STORAGE_ERROR)
    broker = serving(lambda seen: damaged if seen >= 2 else None)
    message = f"offset 8: the broker has sent no records for 2 s, but has some up to offset {last};"
    with scripted(broker, timeout_s=2) as admin, pytest.raises(Unreadable, match=message):
        read(admin, ReadRange(0, 0, end))


def test_reader_at_the_end_waits_longer_than_the_time_limit() -> None:
    at_the_end = answer(records=[], high_watermark=LOG_END, last_stable_offset=LOG_END)
    with (
        scripted(serving(lambda _: at_the_end), timeout_s=0.3) as admin,
        closing(RecordReader(admin.config, TOPIC, [ReadRange(0, LOG_END)], list[str]().append)) as reader,
    ):
        assert [reader.poll(0.1) for _ in range(10)] == [[]] * 10


def test_closed_reader_stops_a_fetch_that_waits() -> None:
    broker = serving(lambda seen: None if seen == 0 else answer(records=[], high_watermark=4))
    with (
        scripted(broker) as admin,
        closing(RecordReader(admin.config, TOPIC, [ReadRange(0, 0)], list[str]().append)) as reader,
    ):
        assert [record.offset for record in reader.poll(10)] == [0, 1, 2, 3]
        assert reader.poll(0.01) == []
        assert not reader.done
