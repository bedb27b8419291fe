"""What Spark keeps of a stream, and how far a trigger goes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.cluster.topics import Topic
from dray.ids import StreamId
from dray.pipeline.reading.errors import TopicGone
from dray.pipeline.spark.source.errors import SourceError
from dray.pipeline.spark.source.offsets import StreamOffset, admitted, check_same, read_offset

ID = bytes(range(16))
OFFSETS = st.dictionaries(st.integers(0, 9), st.integers(0, 1_000), max_size=6)


def test_an_offset_is_told_in_one_way() -> None:
    told = StreamOffset(ID, {10: 5, 2: 7}).told()
    assert json.dumps(told) == '{"topic_id": "000102030405060708090a0b0c0d0e0f", "2": 7, "10": 5}'
    assert read_offset(told, "t") == StreamOffset(ID, {2: 7, 10: 5})


@pytest.mark.parametrize(
    "told", [{}, {"0": 5}, {"topic_id": "zz"}, {"topic_id": "00", "0": -1}, {"topic_id": "00", "x": 1}]
)
def test_what_another_source_left_is_refused(told: dict[str, object]) -> None:
    with pytest.raises(SourceError, match="does not hold offsets of the topic t"):
        read_offset(told, "t")


def test_a_topic_that_was_made_again_is_another() -> None:
    topic = Topic("t", ID, (StreamId(1), StreamId(2)), {}, 0)
    check_same(StreamOffset(ID, {1: 0}), topic, "t")
    with pytest.raises(TopicGone, match="deleted and made again"):
        check_same(StreamOffset(bytes(16), {}), topic, "t")
    with pytest.raises(SourceError, match="names partition 2, and the topic t has 2"):
        check_same(StreamOffset(ID, {2: 0}), topic, "t")


def test_partitions_get_their_share() -> None:
    assert admitted({0: 0, 1: 100}, {0: 300, 1: 200}, 40) == {0: 30, 1: 110}
    assert admitted({0: 0, 1: 0}, {0: 1, 1: 1}, 1) == {0: 1, 1: 0}
    assert admitted({0: 5}, {0: 9, 1: 3}, None) == {0: 9, 1: 3}


@given(OFFSETS, OFFSETS, st.integers(1, 500))
def test_triggers_come_to_the_end_and_take_no_more_than_they_may(
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
