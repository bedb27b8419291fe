"""Stream offsets in Spark's checkpoint, and the end of a trigger."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.cluster.topics import Topic
from dray.ids import StreamId
from dray.scan.topic import TopicDeleted
from dray.spark.errors import SourceError
from dray.spark.source.offsets import StreamOffset, admitted, check_same, read_offset

ID = bytes(range(16))
OFFSETS = st.dictionaries(st.integers(0, 9), st.integers(0, 1_000), max_size=6)


def test_offset_has_one_json_form() -> None:
    stored = StreamOffset(ID, {10: 5, 2: 7}).as_json()
    assert json.dumps(stored) == '{"topic_id": "000102030405060708090a0b0c0d0e0f", "2": 7, "10": 5}'
    assert read_offset(stored, "t") == StreamOffset(ID, {2: 7, 10: 5})


@pytest.mark.parametrize(
    "stored", [{}, {"0": 5}, {"topic_id": "zz"}, {"topic_id": "00", "0": -1}, {"topic_id": "00", "x": 1}]
)
def test_malformed_offset_is_refused(stored: dict[str, object]) -> None:
    with pytest.raises(SourceError, match="does not hold offsets of the topic t"):
        read_offset(stored, "t")


def test_offsets_of_a_recreated_topic_are_refused() -> None:
    topic = Topic("t", ID, (StreamId(1), StreamId(2)), {}, 0)
    check_same(StreamOffset(ID, {1: 0}), topic, "t")
    with pytest.raises(TopicDeleted, match="deleted and created again"):
        check_same(StreamOffset(bytes(16), {}), topic, "t")
    with pytest.raises(SourceError, match="names partition 2, and the topic t has 2"):
        check_same(StreamOffset(ID, {2: 0}), topic, "t")


def test_each_partition_gets_a_share_of_the_trigger() -> None:
    assert admitted({0: 0, 1: 100}, {0: 300, 1: 200}, 40) == {0: 30, 1: 110}
    assert admitted({0: 0, 1: 0}, {0: 1, 1: 1}, 1) == {0: 1, 1: 0}
    assert admitted({0: 5}, {0: 9, 1: 3}, None) == {0: 9, 1: 3}


@given(OFFSETS, OFFSETS, st.integers(1, 500))
def test_triggers_reach_the_end_within_the_limit(
    start: dict[int, int], more: dict[int, int], records: int
) -> None:
    end = {one: start.get(one, 0) + count for one, count in more.items()}
    at = start
    for _ in range(sum(more.values()) + 1):
        before, at = at, admitted(at, end, records)
        taken = {one: offset - before.get(one, 0) for one, offset in at.items()}
        assert all(count >= 0 for count in taken.values())
        assert sum(taken.values()) == min(records, sum(end[one] - before.get(one, 0) for one in end))
        if at == end:
            return
    assert at == end
