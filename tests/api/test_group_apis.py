"""Requests of the group APIs: topics of offsets, owned partitions, metadata limits."""

from dray.api.consumer_group_heartbeat import _owned
from dray.api.offset_commit import _length
from dray.wire import ErrorCode
from dray.wire.apis.consumer_group_heartbeat import TopicPartitions
from dray.wire.apis.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from dray.wire.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from dray.wire.apis.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from tests.api.builders import Broker, on_broker

_NAMES_UNTIL = 9
"""The last version in which topics are identified by name."""


async def _commit(broker: Broker, topic: str, offset: int) -> None:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    request = OffsetCommitRequest(
        group_id="g",
        generation_id_or_member_epoch=-1,
        topics=[OffsetCommitRequestTopic(name=topic, partitions=[partition])],
    )
    answer = await broker.ask(OffsetCommitResponse, request, _NAMES_UNTIL)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE


async def _fetched(broker: Broker) -> dict[str, int]:
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)])
    answer = await broker.ask(OffsetFetchResponse, request, _NAMES_UNTIL)
    return {topic.name: topic.partitions[0].committed_offset for topic in answer.groups[0].topics}


@on_broker
async def test_offsets_of_a_deleted_topic_do_not_apply_to_a_new_topic_of_the_same_name(
    broker: Broker,
) -> None:
    for name in ("t", "-u"):
        await broker.make_topic(name)
        await _commit(broker, name, 7)
    assert await _fetched(broker) == {"t": 7, "-u": 7}
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name="t")])
    await broker.ask(DeleteTopicsResponse, request)
    await broker.make_topic("t")
    assert await _fetched(broker) == {"-u": 7}


def test_partitions_owned_by_a_member_may_be_listed_in_several_entries() -> None:
    response = [
        TopicPartitions(topic_id=b"a" * 16, partitions=[2]),
        TopicPartitions(topic_id=b"a" * 16, partitions=[0, 2]),
    ]
    assert _owned(response) == {b"a" * 16: (0, 2)}


def test_offset_metadata_is_measured_in_utf16_units_as_in_java() -> None:
    assert [_length(note) for note in ("", "ab", "é", "😀")] == [0, 2, 1, 2]
