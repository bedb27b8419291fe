"""Fetch (key 1). Versions 4 to 17; 18 is for replicas only.

Deviations: there are no fetch sessions. Every answer carries session 0, so clients go on sending full
requests, and an incremental request of a session made elsewhere is told that there is no such session. There
is one leader epoch, 0, for ever. Both isolation levels read the same, as there are no transactions. Limits
below 0 mean 0, where Kafka falls over. Records end with a whole batch, never inside one.
"""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from msgspec.structs import replace

from dray.api.errors import EXPECTED, Refused, code_of
from dray.api.exchange import Context
from dray.api.leader_epoch import check_epoch
from dray.api.services import Services, stream_at
from dray.ids import StreamId
from dray.log import LEADER_EPOCH, Slice, let_go
from dray.wire import ErrorCode
from dray.wire.apis.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

_IDS_FROM_VERSION = 13
_STORAGE_ERROR_FROM_VERSION = 6
_READ_COMMITTED = 1
_UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One partition of a request, and the stream it is, or why it cannot be read."""

    asked: FetchPartition
    stream: StreamId | Refused


@dataclass(frozen=True, slots=True)
class _Topic:
    """One topic of a request and its partitions by their numbers, in the order asked."""

    named: FetchTopic
    parts: dict[int, _Wanted]


@dataclass(slots=True)
class _Pass:
    """One go through all partitions, in the order of the request, within the limits."""

    left: int
    found: list[list[PartitionData]]
    slices: list[Slice] = field(default_factory=list)
    size_bytes: int = 0
    faulty: bool = False


async def handle(request: FetchRequest, context: Context, services: Services) -> FetchResponse:
    if request.session_epoch > 0:
        return FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    wanted = _wanted(request, context, services)
    limit = max(0, min(request.max_bytes, services.settings.fetch_bytes_max))
    enough = min(request.min_bytes, limit)
    deadline = services.clock.monotonic() + request.max_wait_ms / 1000
    streams = list(_streams(wanted))
    with services.log.watched(streams) as changed:
        while True:
            changed.clear()
            done = await _read_all(wanted, request.isolation_level, limit, services)
            left = deadline - services.clock.monotonic()
            if done.size_bytes >= enough or done.faulty or left <= 0 or not streams:
                return _response(wanted, done, context)
            await _pause(changed, left, context, services)


async def _pause(changed: asyncio.Event, seconds: float, context: Context, services: Services) -> None:
    """Wait until a stream may have grown, or as long as the client lets us."""
    began = services.clock.monotonic()
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await changed.wait()
    context.pauses.seconds += services.clock.monotonic() - began


def _wanted(request: FetchRequest, context: Context, services: Services) -> list[_Topic]:
    """Gather what is asked: each partition once, as it was asked last; no topic without partitions."""
    topics: dict[tuple[str, bytes], _Topic] = {}
    for named in request.topics:
        for asked in named.partitions:
            topic = topics.setdefault((named.topic, named.topic_id), _Topic(named, {}))
            topic.parts[asked.partition] = _Wanted(asked, _resolve(named, asked, context, services))
    return list(topics.values())


def _streams(wanted: list[_Topic]) -> Iterator[StreamId]:
    for topic in wanted:
        for one in topic.parts.values():
            if not isinstance(one.stream, Refused):
                yield one.stream


def _resolve(
    topic: FetchTopic, asked: FetchPartition, context: Context, services: Services
) -> StreamId | Refused:
    if context.version < _IDS_FROM_VERSION:
        found = services.topics.find(topic.topic)
    else:
        found = services.topics.find_id(topic.topic_id)
        if found is None:
            return Refused(ErrorCode.UNKNOWN_TOPIC_ID)
    stream = stream_at(found, asked.partition)
    if stream is None:
        return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if asked.last_fetched_epoch > LEADER_EPOCH:
        return Refused(ErrorCode.OFFSET_OUT_OF_RANGE)  # it has read what was never written
    # Every negative epoch stands for none here, which is not so in ListOffsets.
    return check_epoch(max(asked.current_leader_epoch, -1)) or stream


async def _read_all(wanted: list[_Topic], isolation_level: int, limit: int, services: Services) -> _Pass:
    done = _Pass(limit, [])
    for topic in wanted:
        parts = [await _read(one, isolation_level, done, services) for one in topic.parts.values()]
        done.found.append(parts)
    let_go(done.slices)
    return done


async def _read(one: _Wanted, isolation_level: int, done: _Pass, services: Services) -> PartitionData:
    if isinstance(one.stream, Refused):
        return _failed(one, one.stream, done)
    # The first batch of the whole answer is sent however large it is; later ones must fit.
    first = done.size_bytes == 0
    room = min(one.asked.partition_max_bytes, done.left)
    try:
        found = await services.log.read(one.stream, one.asked.fetch_offset, max(room, 0), whole_first=first)
    except EXPECTED as error:
        return _failed(one, error, done)
    done.slices.append(found)
    done.size_bytes += found.size_bytes
    done.left -= found.size_bytes
    return _told(one, found, isolation_level)


def _told(one: _Wanted, found: Slice, isolation_level: int) -> PartitionData:
    return PartitionData(
        partition_index=one.asked.partition,
        high_watermark=found.head.high_watermark,
        last_stable_offset=found.head.high_watermark,
        log_start_offset=found.head.log_start,
        aborted_transactions=[] if isolation_level == _READ_COMMITTED else None,
        records=found.parts,
    )


def _failed(one: _Wanted, error: BaseException, done: _Pass) -> PartitionData:
    done.faulty = True
    code = code_of(error)
    return PartitionData(
        partition_index=one.asked.partition,
        error_code=code,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        aborted_transactions=[] if code in _UNKNOWN else None,
        records=[],
    )


def _response(wanted: list[_Topic], done: _Pass, context: Context) -> FetchResponse:
    return FetchResponse(
        responses=[
            FetchableTopicResponse(
                topic=topic.named.topic,
                topic_id=topic.named.topic_id,
                partitions=[_known(one, context) for one in parts],
            )
            for topic, parts in zip(wanted, done.found, strict=True)
        ]
    )


def _known(one: PartitionData, context: Context) -> PartitionData:
    """Old clients have not heard of storage errors; they are sent to look for the leader instead."""
    if one.error_code != ErrorCode.KAFKA_STORAGE_ERROR or context.version >= _STORAGE_ERROR_FROM_VERSION:
        return one
    return replace(one, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
