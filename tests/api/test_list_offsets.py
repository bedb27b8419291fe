"""ListOffsets over a real socket: special times by version, searches by time, faulty questions."""

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
from tests.oracle.asking import Asker
from tests.oracle.batches import TIME_MS, batch
from tests.oracle.requests import Named, offsets, produce

LATEST, EARLIEST, NEWEST, EARLIEST_LOCAL, TIERED, PENDING = -1, -2, -3, -4, -5, -6
SINCE = {NEWEST: 7, EARLIEST_LOCAL: 8, TIERED: 9, PENDING: 11}
NOWHERE = (-1, -1, -1)


@pytest.fixture
def filled(asker: Asker, topic: Named) -> Named:
    """Two records at 0 and 1 ms, two at 1000 and 1001, two at 500 and 501."""
    for start in (0, 1000, 500):
        asker.ask(produce(topic, batch(b"a", b"b", time_ms=TIME_MS + start)), ProduceResponse)
    return topic


def found(asker: Asker, request: ListOffsetsRequest, version: int = 11) -> ListOffsetsPartitionResponse:
    (only,) = asker.ask(request, ListOffsetsResponse, version).topics[0].partitions
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
"""What a full and an empty log answer."""


@pytest.mark.parametrize("timestamp", SPECIAL)
@pytest.mark.parametrize("version", range(4, 12))
def test_special_times(
    asker: Asker, filled: Named, make_topic: MakeTopic, timestamp: int, version: int
) -> None:
    for topic, expected in zip((filled, make_topic("empty")), SPECIAL[timestamp], strict=True):
        one = found(asker, offsets(topic.name, timestamp), version)
        if version < SINCE.get(timestamp, 0):
            assert (one.error_code, one.offset) == (E.UNSUPPORTED_VERSION, -1)
        else:
            assert place(one) == expected


def test_times_that_mean_nothing(asker: Asker, filled: Named) -> None:
    assert found(asker, offsets(filled.name, -7)).error_code == E.UNSUPPORTED_VERSION


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
def test_the_first_record_at_or_after_a_time(
    asker: Asker, filled: Named, after_ms: int, expected: tuple[int, int, int]
) -> None:
    """What is not found is no error."""
    assert place(found(asker, offsets(filled.name, TIME_MS + after_ms))) == expected


@pytest.mark.parametrize("version", [2, 6, 11])
def test_both_isolation_levels_see_the_same_end(asker: Asker, filled: Named, version: int) -> None:
    for level in (0, 1):
        assert found(asker, offsets(filled.name, LATEST, isolation_level=level), version).offset == 6


@pytest.mark.parametrize("version", [1, 6, 11])
def test_unknown_topics_and_partitions(asker: Asker, filled: Named, version: int) -> None:
    for request in (
        offsets("nobody-made-this", LATEST),
        offsets(filled.name, LATEST, partition=1),
        offsets(filled.name, LATEST, partition=-1),
    ):
        assert found(asker, request, version).error_code == E.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", [1, 6, 11])
def test_a_partition_asked_twice_is_refused_once(asker: Asker, filled: Named, version: int) -> None:
    assert found(asker, offsets(filled.name, LATEST, EARLIEST), version).error_code == E.INVALID_REQUEST


def test_only_what_was_asked_twice_is_refused(asker: Asker, make_topic: MakeTopic) -> None:
    topic = make_topic("pair", 2)
    asked = [ListOffsetsPartition(partition_index=number, timestamp=LATEST) for number in (0, 1, 0)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic.name, partitions=asked)])
    told = asker.ask(request, ListOffsetsResponse).topics[0].partitions
    assert {one.partition_index: one.error_code for one in told} == {0: E.INVALID_REQUEST, 1: E.NONE}


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [(-1, E.NONE), (0, E.NONE), (1, E.UNKNOWN_LEADER_EPOCH), (-2, E.FENCED_LEADER_EPOCH)],
)
def test_leader_epochs(asker: Asker, filled: Named, epoch: int, expected: E) -> None:
    assert found(asker, offsets(filled.name, LATEST, epoch=epoch)).error_code == expected
