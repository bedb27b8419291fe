"""DescribeLogDirs (key 35), versions 1 to 5.

Version notes:
- 2: flexible.
- 3: top-level error code.
- 4: total and usable bytes (KIP-827).
- 5: cordoned log directories (KIP-1066).

Differences from Kafka:
- All brokers have the same log directory: the object store. Each broker reports only the partitions it is
  leader of in Metadata, so that a tool that adds up all brokers counts each partition once.
- The size of a partition is what its readable records take in the store, including the whole chunk
  containing the log start offset.
- Total and usable bytes are unknown (-1).
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from dray.acls import Operation
from dray.api.errors import EXPECTED, code_of
from dray.api.exchange import Context
from dray.api.partitions import stream_at
from dray.api.served import Served
from dray.api.services import Services
from dray.cluster.topics import Topic
from dray.ids import StreamId
from dray.log import StreamUnknown
from dray.wire import ErrorCode
from dray.wire.apis.describe_log_dirs import (
    DESCRIBE_LOG_DIRS,
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)


async def handle(
    request: DescribeLogDirsRequest, context: Context, services: Services
) -> DescribeLogDirsResponse:
    if not context.access.allows_on_cluster(Operation.DESCRIBE):
        return DescribeLogDirsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    wanted = _wanted(request)
    topics: list[DescribeLogDirsTopic] = []
    try:
        for topic in services.topics.all():
            numbers = range(len(topic.streams)) if wanted is None else sorted(wanted.get(topic.name, ()))
            partitions = await _partitions(_own(topic, numbers, context, services), services)
            if partitions:
                topics.append(DescribeLogDirsTopic(name=topic.name, partitions=partitions))
    except EXPECTED as error:
        failed = DescribeLogDirsResult(error_code=code_of(error), log_dir=services.log_dir)
        return DescribeLogDirsResponse(results=[failed])
    return DescribeLogDirsResponse(results=[DescribeLogDirsResult(log_dir=services.log_dir, topics=topics)])


def _wanted(request: DescribeLogDirsRequest) -> dict[str, set[int]] | None:
    """Return the requested partitions by topic; None for all."""
    if request.topics is None:
        return None
    wanted: dict[str, set[int]] = {}
    for topic in request.topics:
        wanted.setdefault(topic.topic, set()).update(topic.partitions)
    return wanted


def _own(
    topic: Topic, numbers: Iterable[int], context: Context, services: Services
) -> Iterator[tuple[int, StreamId]]:
    for number in numbers:
        stream = stream_at(topic, number)
        if stream is None:
            continue
        if services.routing.leader(stream, context.origin).broker_id == services.me.broker_id:
            yield number, stream


async def _partitions(
    owned: Iterable[tuple[int, StreamId]], services: Services
) -> list[DescribeLogDirsPartition]:
    found: list[DescribeLogDirsPartition] = []
    for number, stream in owned:
        with suppress(StreamUnknown):  # the topic has just been deleted
            size = await services.log.size_bytes(stream)
            found.append(DescribeLogDirsPartition(partition_index=number, partition_size=size))
    return found


API: Final = Served(DESCRIBE_LOG_DIRS, versions=(1, 5), handle=handle)
