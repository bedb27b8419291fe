"""Reading through trouble: every record once, in order."""

from collections.abc import Callable, Sequence

import pytest

from dray.cli.client import Cluster
from dray.cli.client.errors import ClientError, NotKafka, NotNow, Refused
from dray.cli.client.reading import Reading, Span
from dray.records import Record, encode_batch
from dray.wire import ErrorCode, Message
from dray.wire.apis.fetch import FETCH, FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from tests.cli.scripted_broker import HANG_UP, TOPIC, Say, ScriptedBroker, scripted_cluster

BATCH = 4
END = 40


def batch_at(offset: int) -> bytes:
    """The batch that holds an offset: records 0…3, 4…7, and so on, each with its offset as value."""
    first = offset - offset % BATCH
    return encode_batch([Record(one, 0, None, b"%d" % one) for one in range(first, first + BATCH)])


def answer(**told: object) -> FetchResponse:
    partition = PartitionData(**told)  # type: ignore[arg-type]
    return FetchResponse(responses=[FetchableTopicResponse(partitions=[partition])])


def offset_of(request: Message) -> int:
    assert isinstance(request, FetchRequest)
    return request.topics[0].partitions[0].fetch_offset


def serving(trouble: Callable[[int], Say]) -> Callable[[Message], Say]:
    """Serve batches, unless `trouble` has something to say to the n-th request."""
    seen = iter(range(10_000))

    def serve(request: Message) -> Say:
        said = trouble(next(seen))
        return said if said is not None else answer(records=[batch_at(offset_of(request))])

    return serve


async def read(cluster: Cluster, span: Span, warnings: list[str] | None = None) -> list[int]:
    """Read a span to its end."""
    reading = Reading(cluster, TOPIC, [span], (list[str]() if warnings is None else warnings).append)
    reading.start()
    found: list[int] = []
    while (chunk := await reading.next()) is not None:
        assert [record.value for record in chunk.records] == [b"%d" % one.offset for one in chunk.records]
        found += [record.offset for record in chunk.records]
    return found


def once(number: int, say: Say) -> Callable[[int], Say]:
    return lambda seen: say if seen == number else None


@pytest.mark.parametrize(
    "trouble",
    [
        once(-1, None),
        once(2, answer(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)),
        once(3, HANG_UP),
        once(0, FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)),
        once(1, answer(records=[])),
        once(2, answer(records=[batch_at(8), batch_at(12)[:-1]])),
        once(2, answer(records=[batch_at(8), batch_at(12)[:20]])),
    ],
    ids=["none", "not the leader", "hung up", "whole answer", "nothing yet", "torn batch", "torn header"],
)
async def test_every_record_comes_once(trouble: Callable[[int], Say]) -> None:
    broker = ScriptedBroker()
    broker.on(FETCH.key, serving(trouble))
    async with scripted_cluster(broker) as cluster:
        assert await read(cluster, Span(0, 0, END)) == list(range(END))


@pytest.mark.parametrize(("start", "end"), [(0, 4), (1, 4), (3, 5), (5, 7), (6, 6)])
async def test_spans_that_begin_and_end_inside_batches(start: int, end: int) -> None:
    broker = ScriptedBroker()
    broker.on(FETCH.key, serving(once(-1, None)))
    async with scripted_cluster(broker) as cluster:
        assert await read(cluster, Span(0, start, end)) == list(range(start, end))


async def test_control_batches_are_not_shown() -> None:
    broker = ScriptedBroker()
    marker = encode_batch([Record(8, 0, b"\0\0\0\1", b"")], control=True, transactional=True)
    records = encode_batch([Record(9, 0, None, b"9")])
    broker.on(FETCH.key, serving(once(2, answer(records=[marker, records]))))
    async with scripted_cluster(broker) as cluster:
        assert await read(cluster, Span(0, 0, 12)) == [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11]


async def test_offsets_that_are_gone_are_skipped_and_told() -> None:
    broker, warnings = ScriptedBroker(), list[str]()
    gone = answer(error_code=ErrorCode.OFFSET_OUT_OF_RANGE, log_start_offset=20)
    broker.on(FETCH.key, serving(once(1, gone)))
    async with scripted_cluster(broker) as cluster:
        assert await read(cluster, Span(0, 0, 24), warnings) == [0, 1, 2, 3, 20, 21, 22, 23]
    assert warnings == ["partition 0: offsets 4 to 19 are gone; going on at 20"]


@pytest.mark.parametrize(
    ("said", "kind", "told"),
    [
        (
            answer(error_code=ErrorCode.OFFSET_OUT_OF_RANGE, log_start_offset=0),
            Refused,
            "OFFSET_OUT_OF_RANGE",
        ),
        (answer(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED), Refused, "TOPIC_AUTHORIZATION_FAILED"),
        (answer(records=[batch_at(0)[:-1] + b"?"]), NotKafka, "cannot be read: the batch says CRC"),
        (answer(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER), NotNow, "NOT_LEADER_OR_FOLLOWER"),
    ],
)
async def test_trouble_that_stays_is_told(said: Say, kind: type[ClientError], told: str) -> None:
    broker = ScriptedBroker()
    broker.on(FETCH.key, lambda _: said)
    async with scripted_cluster(broker, timeout_s=0.3) as cluster:
        with pytest.raises(kind, match=told):
            await read(cluster, Span(0, 0, END))


def offsets(found: Sequence[Record]) -> list[int]:
    return [record.offset for record in found]


async def test_stop_ends_it_at_once() -> None:
    broker = ScriptedBroker()
    broker.on(FETCH.key, serving(lambda seen: None if seen == 0 else answer(records=[])))
    async with scripted_cluster(broker) as cluster:
        reading = Reading(cluster, TOPIC, [Span(0, 0)], list[str]().append)
        reading.start()
        chunk = await reading.next()
        assert chunk is not None
        assert offsets(chunk.records) == [0, 1, 2, 3]
        reading.stop()
        assert await reading.next() is None
