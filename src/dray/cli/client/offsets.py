"""Where a partition begins and ends, and where a time is in it: ListOffsets, asked of the leaders."""

from collections.abc import Iterable, Mapping
from typing import Final

from dray.cli.client.cluster import Cluster, TopicLayout
from dray.cli.client.errors import raise_for
from dray.wire.apis.list_offsets import (
    LIST_OFFSETS,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

EARLIEST: Final = -2
LATEST: Final = -1
NOWHERE: Final = -1
"""The offset of a time that no record has reached."""
_CONSUMER: Final = -1


async def offsets_at(cluster: Cluster, name: str, partitions: Iterable[int], at: int) -> dict[int, int]:
    """Return by partition the first offset of that time or later; `at` may be EARLIEST or LATEST."""
    wanted = tuple(partitions)

    async def look() -> dict[int, int]:
        layout = await cluster.layout(name)
        return await _ask_leaders(cluster, layout, wanted, at)

    return await cluster.retried(look)


async def _ask_leaders(
    cluster: Cluster, layout: TopicLayout, partitions: Iterable[int], at: int
) -> dict[int, int]:
    found: dict[int, int] = {}
    for leader, numbers in by_leader(layout, partitions).items():
        asked = [ListOffsetsPartition(partition_index=number, timestamp=at) for number in numbers]
        topic = ListOffsetsTopic(name=layout.name, partitions=asked)
        request = ListOffsetsRequest(replica_id=_CONSUMER, topics=[topic])
        connection = await cluster.broker(leader)
        answer = await connection.ask(LIST_OFFSETS, request, ListOffsetsResponse)
        for one in (one for told in answer.topics for one in told.partitions):
            raise_for(one.error_code, f"partition {one.partition_index} of topic '{layout.name}'")
            found[one.partition_index] = one.offset
    return found


def by_leader(layout: TopicLayout, partitions: Iterable[int]) -> Mapping[int, list[int]]:
    """Sort partitions by the broker that leads them."""
    sorted_out: dict[int, list[int]] = {}
    for number in partitions:
        sorted_out.setdefault(layout.leaders[number], []).append(number)
    return sorted_out
