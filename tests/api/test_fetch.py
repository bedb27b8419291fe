"""Fetch over a real socket: offsets, limits, waiting, sessions, epochs, isolation levels."""

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from dray.api import fetch as fetch_api
from dray.log import FetchSlice, LogDamaged
from dray.records import iter_batches
from dray.wire import ErrorCode as E
from dray.wire.apis.delete_records import DeleteRecordsResponse
from dray.wire.apis.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from dray.wire.apis.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from dray.wire.apis.produce import ProduceResponse
from tests.api.builders import Broker, on_broker
from tests.api.conftest import MakeTopic
from tests.oracle.batches import batch
from tests.oracle.request_client import RequestClient, request_client
from tests.oracle.requests import Named, fetch, part, produce
from tests.oracle.scenarios.records import delete

VERSIONS = range(4, 18)
SIZES = (1, 3, 2)
END = sum(SIZES)


@pytest.fixture
def filled(client: RequestClient, make_topic: MakeTopic) -> Named:
    """Three partitions with batches of 1, 3 and 2 records each."""
    topic = make_topic("filled", 3)
    for partition in range(3):
        fill(client, topic, partition)
    return topic


def fill(client: RequestClient, topic: Named, partition: int = 0, sizes: Sequence[int] = SIZES) -> None:
    for size in sizes:
        request = produce(topic, batch(*[b"v"] * size), partition=partition)
        client.send(request, ProduceResponse)


def read(client: RequestClient, request: FetchRequest, version: int = 17) -> list[PartitionData]:
    (topic,) = client.send(request, FetchResponse, version).responses
    return topic.partitions


def one(
    client: RequestClient, topic: Named, requested: FetchPartition, version: int = 17, **more: Any
) -> PartitionData:
    (only,) = read(client, fetch(topic, requested, **more), version)
    return only


def size(found: PartitionData) -> int:
    return len(b"".join(found.records or ()))


def base_offsets(found: PartitionData) -> list[int]:
    whole = memoryview(b"".join(found.records or ()))
    return [header.base_offset for header, _ in iter_batches(whole)]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_reads_from_the_batch_that_holds_the_offset(
    client: RequestClient, filled: Named, version: int
) -> None:
    found = {offset: base_offsets(one(client, filled, part(offset), version)) for offset in range(END + 1)}
    assert found == {0: [0, 1, 4], 1: [1, 4], 2: [1, 4], 3: [1, 4], 4: [4], 5: [4], 6: []}


def test_watermarks_are_returned_with_the_records(client: RequestClient, filled: Named) -> None:
    found = one(client, filled, part(END))
    response = found.error_code, found.high_watermark, found.last_stable_offset, found.log_start_offset
    assert response == (E.NONE, END, END, 0)
    assert (found.records, found.preferred_read_replica) == ([], -1)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("offset", [END + 1, -1, 1 << 60])
def test_offset_outside_the_log_is_out_of_range(
    client: RequestClient, filled: Named, version: int, offset: int
) -> None:
    found = one(client, filled, part(offset), version)
    assert (found.error_code, found.high_watermark, size(found)) == (E.OFFSET_OUT_OF_RANGE, -1, 0)
    assert (found.last_stable_offset, found.log_start_offset) == (-1, -1)


def test_offsets_before_the_start_of_a_trimmed_log_are_out_of_range(
    client: RequestClient, filled: Named
) -> None:
    client.send(delete(filled.name, (0, 2)), DeleteRecordsResponse)
    assert one(client, filled, part(1)).error_code == E.OFFSET_OUT_OF_RANGE
    found = one(client, filled, part(2))
    assert (found.error_code, found.log_start_offset, base_offsets(found)) == (E.NONE, 2, [1, 4])


@pytest.mark.parametrize(
    "limits", [{"most": 0}, {"most": 1}, {"max_bytes": 0}, {"max_bytes": 1}, {"most": -1}]
)
def test_first_batch_is_returned_whole_whatever_the_limits(
    client: RequestClient, filled: Named, limits: dict[str, int]
) -> None:
    most = limits.get("most", 1 << 20)
    found = one(client, filled, part(0, most=most), max_bytes=limits.get("max_bytes", 1 << 20))
    assert base_offsets(found) == [0]


def test_limits_apply_in_the_order_of_the_request(client: RequestClient, filled: Named) -> None:
    first = len(batch(b"v"))
    parts = [part(partition=number, most=first) for number in (2, 0, 1)]
    assert [found.partition_index for found in read(client, fetch(filled, *parts))] == [2, 0, 1]
    assert [size(found) for found in read(client, fetch(filled, *parts))] == [first] * 3
    tight = read(client, fetch(filled, *parts, max_bytes=first + 1))
    assert [size(found) for found in tight] == [first, 0, 0]
    assert [found.error_code for found in tight] == [E.NONE] * 3


def test_first_batch_may_be_that_of_a_later_partition(client: RequestClient, filled: Named) -> None:
    parts = [part(END, partition=1), part(partition=0, most=1), part(partition=2, most=1)]
    sizes = [size(found) for found in read(client, fetch(filled, *parts))]
    assert sizes == [0, len(batch(b"v")), 0]


def test_duplicate_partition_is_answered_once(client: RequestClient, filled: Named) -> None:
    found = read(client, fetch(filled, part(0), part(4)))
    assert [base_offsets(each) for each in found] == [[4]], "as it was requested last"


def test_topic_without_partitions_is_omitted(client: RequestClient, filled: Named) -> None:
    assert client.send(fetch(filled, max_wait_ms=60_000), FetchResponse, 12).responses == []


def test_empty_response_waits_and_a_full_one_does_not(client: RequestClient, filled: Named) -> None:
    began = time.monotonic()
    assert size(one(client, filled, part(END), max_wait_ms=150)) == 0
    assert time.monotonic() - began >= 0.15
    for hurried in (
        fetch(filled, part(END), max_wait_ms=60_000, min_bytes=0),
        fetch(filled, part(END), max_wait_ms=-1),
        fetch(filled, part(0), max_wait_ms=60_000, min_bytes=1),
        fetch(filled, part(0), max_wait_ms=60_000, min_bytes=1 << 30, max_bytes=10),
        fetch(filled, part(END), part(99, partition=1), max_wait_ms=60_000),
        fetch(filled, part(END), part(partition=9), max_wait_ms=60_000),
    ):
        client.send(hurried, FetchResponse, 17)


def test_produce_wakes_a_waiting_fetch(client: RequestClient, filled: Named) -> None:
    def produce_soon() -> None:
        with request_client(client.address) as other:
            fill(other, filled, sizes=(1,))

    thread = threading.Thread(target=produce_soon)
    thread.start()
    found = one(client, filled, part(END), max_wait_ms=60_000)
    thread.join()
    assert base_offsets(found) == [END]


@pytest.mark.parametrize("session", [(77, 5), (0, 5)])
def test_incremental_fetch_returns_fetch_session_id_not_found(
    client: RequestClient, filled: Named, session: tuple[int, int]
) -> None:
    reply = client.send(fetch(filled, part(), session=session), FetchResponse, 17)
    assert (reply.error_code, reply.responses) == (E.FETCH_SESSION_ID_NOT_FOUND, [])


@pytest.mark.parametrize("session", [(0, -1), (0, 0), (77, -1), (77, 0)])
def test_full_fetch_is_answered_in_full(
    client: RequestClient, filled: Named, session: tuple[int, int]
) -> None:
    reply = client.send(fetch(filled, part(), part(partition=1), session=session), FetchResponse, 17)
    assert (reply.error_code, reply.session_id > 0) == (E.NONE, session[1] == 0)
    assert [found.partition_index for found in reply.responses[0].partitions] == [0, 1]


@pytest.mark.parametrize(
    ("epoch", "expected"), [(-1, E.NONE), (0, E.NONE), (1, E.UNKNOWN_LEADER_EPOCH), (-2, E.NONE)]
)
def test_leader_epochs_are_checked(client: RequestClient, filled: Named, epoch: int, expected: E) -> None:
    assert one(client, filled, part(epoch=epoch)).error_code == expected


def test_future_last_fetched_epoch_is_out_of_range(client: RequestClient, filled: Named) -> None:
    assert one(client, filled, part(2, last_epoch=0)).error_code == E.NONE
    assert one(client, filled, part(2, last_epoch=1)).error_code == E.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize("version", VERSIONS)
def test_aborted_transactions_are_null_or_empty(client: RequestClient, filled: Named, version: int) -> None:
    assert one(client, filled, part(), version, isolation_level=0).aborted_transactions is None
    assert one(client, filled, part(), version, isolation_level=1).aborted_transactions == []


@pytest.mark.parametrize("version", VERSIONS)
def test_unknown_topics_and_partitions_have_their_error_codes(
    client: RequestClient, filled: Named, version: int
) -> None:
    stranger = Named("missing-made-this", bytes(range(16)))
    unknown = E.UNKNOWN_TOPIC_OR_PARTITION if version < 13 else E.UNKNOWN_TOPIC_ID
    assert one(client, stranger, part(), version).error_code == unknown
    for number in (3, -1):
        found = one(client, filled, part(partition=number), version)
        assert found.error_code == E.UNKNOWN_TOPIC_OR_PARTITION
    both = [
        FetchTopic(topic=each.name, topic_id=each.topic_id, partitions=[part()])
        for each in (stranger, filled)
    ]
    reply = client.send(FetchRequest(max_wait_ms=60_000, min_bytes=1, topics=both), FetchResponse, version)
    assert [topic.partitions[0].error_code for topic in reply.responses] == [unknown, E.NONE]


def test_id_of_a_deleted_topic_is_unknown(client: RequestClient, make_topic: MakeTopic) -> None:
    topic = make_topic("short-lived")
    request = DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=topic.topic_id)], timeout_ms=5000)
    client.send(request, DeleteTopicsResponse)
    assert one(client, topic, part(), 13).error_code == E.UNKNOWN_TOPIC_ID
    assert one(client, topic, part(), 12).error_code == E.UNKNOWN_TOPIC_OR_PARTITION


class _Damaged:
    """A log with a missing object."""

    def __init__(self, broker: Broker) -> None:
        self.watch = broker.services.log.watch

    async def read(self, *_: object, **__: object) -> None:
        raise LogDamaged("an object is missing", "restore it")


@on_broker
async def test_old_clients_get_not_leader_instead_of_a_storage_error(broker: Broker) -> None:
    made = await broker.make_topic()
    services = replace(broker.services, log=cast("Any", _Damaged(broker)))
    damaged = Broker(services, broker.tasks, broker.registration)
    request = fetch(Named(made.name, made.topic_id), part())
    for version, expected in ((5, E.NOT_LEADER_OR_FOLLOWER), (6, E.KAFKA_STORAGE_ERROR)):
        reply = await damaged.ask(FetchResponse, request, version)
        assert reply.responses[0].partitions[0].error_code == expected


def test_response_releases_buffers_that_its_slices_would_keep_alive(
    client: RequestClient, filled: Named, monkeypatch: pytest.MonkeyPatch
) -> None:
    together: list[list[int]] = []

    def detach_buffers(slices: Sequence[FetchSlice]) -> None:
        together.append([one.size_bytes for one in slices])

    monkeypatch.setattr(fetch_api, "detach_buffers", detach_buffers)
    found = read(client, fetch(filled, *(part(partition=number) for number in range(3))))
    assert together == [[size(one) for one in found]]
    assert len(found) == 3
