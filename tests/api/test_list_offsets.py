"""ListOffsets over a real socket: special timestamps by version, lookups by time, invalid requests."""

import pytest

from dray.wire import ErrorCode as E
from dray.wire.apis.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from dray.wire.apis.produce import ProduceResponse
from tests.api.conftest import MakeTopic
from tests.oracle.batches import TIME_MS, batch
from tests.oracle.request_client import RequestClient
from tests.oracle.requests import Named, offsets, produce

LATEST, EARLIEST, NEWEST, EARLIEST_LOCAL, TIERED, PENDING = -1, -2, -3, -4, -5, -6
SINCE = {NEWEST: 7, EARLIEST_LOCAL: 8, TIERED: 9, PENDING: 11}
NOWHERE = (-1, -1, -1)


@pytest.fixture
def filled(client: RequestClient, topic: Named) -> Named:
    """Two records at 0 and 1 ms, two at 1000 and 1001, two at 500 and 501."""
    for start in (0, 1000, 500):
        client.send(produce(topic, batch(b"a", b"b", time_ms=TIME_MS + start)), ProduceResponse)
    return topic


def found(
    client: RequestClient, request: ListOffsetsRequest, version: int = 11
) -> ListOffsetsPartitionResponse:
    (only,) = client.send(request, ListOffsetsResponse, version).topics[0].partitions
    return only


def place(one: ListOffsetsPartitionResponse) -> tuple[int, int, int]:
    assert one.error_code == E.NONE
    return one.offset, one.timestamp, one.leader_epoch


SPECIAL = {
    LATEST: ((6, -1, 0), (0, -1, 0)),
    EARLIEST: ((0, -1, 0), (0, -1, 0)),
    NEWEST: ((3, TIME_MS + 1001, 0), NOWHERE),
    EARLIEST_LOCAL: ((0, -1, 0), (0, -1, 0)),
    TIERED: (NOWHERE, NOWHERE),
    PENDING: (NOWHERE, NOWHERE),
}
"""Offsets in a filled and in an empty log."""


@pytest.mark.parametrize("timestamp", SPECIAL)
@pytest.mark.parametrize("version", range(4, 12))
def test_special_timestamps_are_resolved(
    client: RequestClient, filled: Named, make_topic: MakeTopic, timestamp: int, version: int
) -> None:
    for topic, expected in zip((filled, make_topic("empty")), SPECIAL[timestamp], strict=True):
        one = found(client, offsets(topic.name, timestamp), version)
        if version < SINCE.get(timestamp, 0):
            assert (one.error_code, one.offset) == (E.UNSUPPORTED_VERSION, -1)
        else:
            assert place(one) == expected


def test_unknown_special_timestamps_are_refused(client: RequestClient, filled: Named) -> None:
    assert found(client, offsets(filled.name, -7)).error_code == E.UNSUPPORTED_VERSION


@pytest.mark.parametrize(
    ("after_ms", "expected"),
    [
        (-(10**9), (0, TIME_MS, 0)),
        (0, (0, TIME_MS, 0)),
        (1, (1, TIME_MS + 1, 0)),
        (2, (2, TIME_MS + 1000, 0)),
        (1001, (3, TIME_MS + 1001, 0)),
        (1002, NOWHERE),
    ],
)
def test_first_record_at_or_after_a_timestamp_is_found(
    client: RequestClient, filled: Named, after_ms: int, expected: tuple[int, int, int]
) -> None:
    """A timestamp after all records is not an error."""
    assert place(found(client, offsets(filled.name, TIME_MS + after_ms))) == expected


@pytest.mark.parametrize("version", [2, 6, 11])
def test_both_isolation_levels_return_the_same_end_offset(
    client: RequestClient, filled: Named, version: int
) -> None:
    for level in (0, 1):
        assert found(client, offsets(filled.name, LATEST, isolation_level=level), version).offset == 6


@pytest.mark.parametrize("version", [1, 6, 11])
def test_unknown_topics_and_partitions_have_their_error_codes(
    client: RequestClient, filled: Named, version: int
) -> None:
    for request in (
        offsets("missing-made-this", LATEST),
        offsets(filled.name, LATEST, partition=1),
        offsets(filled.name, LATEST, partition=-1),
    ):
        assert found(client, request, version).error_code == E.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", [1, 6, 11])
def test_duplicate_partition_is_refused_once(client: RequestClient, filled: Named, version: int) -> None:
    assert found(client, offsets(filled.name, LATEST, EARLIEST), version).error_code == E.INVALID_REQUEST


def test_only_the_duplicate_partition_is_refused(client: RequestClient, make_topic: MakeTopic) -> None:
    topic = make_topic("pair", 2)
    requested = [ListOffsetsPartition(partition_index=number, timestamp=LATEST) for number in (0, 1, 0)]
    request = ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name=topic.name, partitions=requested)]
    )
    response = client.send(request, ListOffsetsResponse).topics[0].partitions
    assert {one.partition_index: one.error_code for one in response} == {0: E.INVALID_REQUEST, 1: E.NONE}


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [(-1, E.NONE), (0, E.NONE), (1, E.UNKNOWN_LEADER_EPOCH), (-2, E.FENCED_LEADER_EPOCH)],
)
def test_leader_epochs_are_checked(client: RequestClient, filled: Named, epoch: int, expected: E) -> None:
    assert found(client, offsets(filled.name, LATEST, epoch=epoch)).error_code == expected
