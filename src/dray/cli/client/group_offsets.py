"""The offsets that a group has committed: reading them, and putting others in their place."""

from collections.abc import Mapping
from typing import Final, TypeAlias

from dray.cli.client.cluster import Cluster
from dray.cli.client.coordinators import coordinator_of
from dray.cli.client.errors import raise_for
from dray.wire import ZERO_UUID, ErrorCode
from dray.wire.apis.offset_commit import (
    OFFSET_COMMIT,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from dray.wire.apis.offset_fetch import (
    OFFSET_FETCH,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseTopics,
)

Offsets: TypeAlias = Mapping[str, Mapping[int, int]]
"""By topic and partition."""
_NONE: Final = -1
_NOBODY: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.STALE_MEMBER_EPOCH)
"""How a group with members answers somebody who is none of them."""
_HAS_MEMBERS: Final = "it has members now; stop them first"


async def committed_offsets(cluster: Cluster, group: str) -> Offsets:
    """Return what a group has committed, of topics that there are; nothing for a group that is not there."""

    async def look() -> Offsets:
        connection = await coordinator_of(cluster, group)
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
        (told,) = (await connection.ask(OFFSET_FETCH, request, OffsetFetchResponse)).groups
        raise_for(told.error_code, f"the offsets of group '{group}'")
        names = await _names(cluster, told.topics)
        named = {topic.name or names.get(topic.topic_id, ""): topic for topic in told.topics}
        return {name: _offsets(topic, group) for name, topic in sorted(named.items()) if name}

    return await cluster.retried(look)


async def commit_offsets(cluster: Cluster, group: str, offsets: Offsets) -> None:
    """Commit offsets for a group without members; it is made if it is not there."""
    topics = [
        OffsetCommitRequestTopic(
            name=name,
            topic_id=(await cluster.layout(name)).topic_id,
            partitions=[
                OffsetCommitRequestPartition(partition_index=number, committed_offset=offset)
                for number, offset in of_topic.items()
            ],
        )
        for name, of_topic in offsets.items()
    ]
    request = OffsetCommitRequest(group_id=group, topics=topics)
    names = {topic.topic_id: topic.name for topic in topics}

    async def commit() -> None:
        connection = await coordinator_of(cluster, group)
        told = await connection.ask(OFFSET_COMMIT, request, OffsetCommitResponse)
        for topic in told.topics:
            name = topic.name or names[topic.topic_id]
            for one in topic.partitions:
                what = f"group '{group}', partition {one.partition_index} of topic '{name}'"
                raise_for(one.error_code, what, _HAS_MEMBERS if one.error_code in _NOBODY else None)

    await cluster.changed(commit)


async def _names(cluster: Cluster, topics: list[OffsetFetchResponseTopics]) -> dict[bytes, str]:
    """Newer brokers tell topics by their ids alone."""
    if all(topic.topic_id == ZERO_UUID for topic in topics):
        return {}
    return {topic.topic_id: topic.name or "" for topic in (await cluster.metadata(None)).topics}


def _offsets(topic: OffsetFetchResponseTopics, group: str) -> dict[int, int]:
    found = {}
    for one in topic.partitions:
        raise_for(one.error_code, f"the offsets of group '{group}'")
        if one.committed_offset != _NONE:
            found[one.partition_index] = one.committed_offset
    return found
