"""Fetch (key 1), versions 4 to 17.

Version notes:
- 4: record batches (message format v2) and isolation level (KIP-98).
- 5: log start offset.
- 6: KAFKA_STORAGE_ERROR may be returned.
- 7: fetch sessions (KIP-227).
- 9: current leader epoch (KIP-320).
- 10: zstd (KIP-110).
- 11: rack of the consumer (KIP-392).
- 12: flexible; last fetched epoch (KIP-595).
- 13: topic ids (KIP-516).
- 15: replica state (KIP-903).
- 16: node endpoints in the response (KIP-951).
- 17: directory ids of replicas (KIP-853).
- 18: high watermark of replicas (KIP-1166). Not served: only replicas send it.

Differences from Kafka:
- No fetch sessions: every response has session id 0, so clients keep sending full requests. Incremental
  requests get FETCH_SESSION_ID_NOT_FOUND.
- The leader epoch is always 0.
- READ_COMMITTED and READ_UNCOMMITTED return the same records, because there are no transactions.
- Negative limits are treated as 0 (Kafka returns UNKNOWN_SERVER_ERROR).
- NOT_LEADER_OR_FOLLOWER is returned only with `routing.enforce_owner`, and by a broker that shuts down.
- Records always end at a batch boundary; Kafka may cut the last batch short.
"""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from dray.acls import Operation, ResourceType
from dray.api.authorization import denied
from dray.api.errors import EXPECTED, RequestRejected, code_of
from dray.api.exchange import Context
from dray.api.partitions import check_leader, check_leader_epoch, current_leader, leader_endpoints, stream_at
from dray.api.served import Served
from dray.api.services import Services
from dray.cluster.topics import Topic
from dray.ids import StreamId
from dray.log import LEADER_EPOCH, FetchSlice, detach_buffers
from dray.quotas import QuotaKey
from dray.wire import ErrorCode
from dray.wire.apis.fetch import (
    FETCH,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)

_IDS_FROM_VERSION = 13
_STORAGE_ERROR_FROM_VERSION = 6
_READ_COMMITTED = 1
_UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A partition of the request, and its stream or the error."""

    requested: FetchPartition
    stream: StreamId | RequestRejected


@dataclass(frozen=True, slots=True)
class _Topic:
    """A topic of the request and its partitions by number, in the order of the request."""

    named: FetchTopic
    parts: dict[int, _Wanted]


@dataclass(slots=True)
class _Attempt:
    """One read of all partitions, in the order of the request, within the limits."""

    left: int
    found: list[list[PartitionData]]
    slices: list[FetchSlice] = field(default_factory=list)
    size_bytes: int = 0
    failed: bool = False


async def handle(request: FetchRequest, context: Context, services: Services) -> FetchResponse:
    if request.session_epoch > 0:
        return FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    wanted = _wanted(request, context, services)
    limit = max(0, min(request.max_bytes, services.settings.fetch_max_bytes))
    if context.quota is not None:  # a larger response would always be above the client's limit
        limit = min(limit, context.quota.fetch_bytes_max)
    enough = min(request.min_bytes, limit)
    deadline = services.clock.monotonic() + request.max_wait_ms / 1000
    streams = list(_streams(wanted))
    with services.log.watched(streams) as changed:
        while True:
            changed.clear()
            done = await _read_all(wanted, request.isolation_level, limit, services)
            left = deadline - services.clock.monotonic()
            if _is_answer(done, enough) or left <= 0 or not streams or services.drain.started:
                return _response(wanted, done, context)
            await _pause(changed, left, context, services)


def _is_answer(done: _Attempt, bytes_min: int) -> bool:
    """Return whether the client gets this at once, as in Kafka: enough bytes, or any error."""
    return done.size_bytes >= bytes_min or done.failed


async def _pause(changed: asyncio.Event, seconds: float, context: Context, services: Services) -> None:
    """Wait until a stream may have grown, the maximum wait is over, or the broker shuts down."""
    began = services.clock.monotonic()
    services.drain.watch(changed)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await changed.wait()
    finally:
        services.drain.unwatch(changed)
    context.waited.seconds += services.clock.monotonic() - began


def _wanted(request: FetchRequest, context: Context, services: Services) -> list[_Topic]:
    """Return the requested topics; of a partition that is listed twice, the last entry counts."""
    topics: dict[tuple[str, bytes], _Topic] = {}
    for named in request.topics:
        found = _topic(named, context, services)
        for requested in named.partitions:
            topic = topics.setdefault((named.topic, named.topic_id), _Topic(named, {}))
            stream = (
                found if isinstance(found, RequestRejected) else _resolve(found, requested, context, services)
            )
            topic.parts[requested.partition] = _Wanted(requested, stream)
    return list(topics.values())


def _streams(wanted: list[_Topic]) -> Iterator[StreamId]:
    for topic in wanted:
        for one in topic.parts.values():
            if not isinstance(one.stream, RequestRejected):
                yield one.stream


def _topic(named: FetchTopic, context: Context, services: Services) -> Topic | RequestRejected:
    if context.version < _IDS_FROM_VERSION:
        topic, unknown = services.topics.find(named.topic), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    else:
        topic, unknown = services.topics.find_id(named.topic_id), ErrorCode.UNKNOWN_TOPIC_ID
    name = named.topic if topic is None else topic.name
    if name and not context.access.allows_on_topic(Operation.READ, name):
        return denied(ResourceType.TOPIC)
    return RequestRejected(unknown) if topic is None else topic


def _resolve(
    topic: Topic, requested: FetchPartition, context: Context, services: Services
) -> StreamId | RequestRejected:
    stream = stream_at(topic, requested.partition)
    if stream is None:
        return RequestRejected(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if requested.last_fetched_epoch > LEADER_EPOCH:
        return RequestRejected(
            ErrorCode.OFFSET_OUT_OF_RANGE
        )  # it claims to have read an epoch that never was
    # All negative epochs mean none here, unlike in ListOffsets.
    outdated = check_leader_epoch(max(requested.current_leader_epoch, -1))
    return outdated or check_leader(stream, context.origin, services.routing) or stream


async def _read_all(wanted: list[_Topic], isolation_level: int, limit: int, services: Services) -> _Attempt:
    done = _Attempt(limit, [])
    for topic in wanted:
        parts = [await _read(one, isolation_level, done, services) for one in topic.parts.values()]
        done.found.append(parts)
    detach_buffers(done.slices)
    return done


async def _read(one: _Wanted, isolation_level: int, done: _Attempt, services: Services) -> PartitionData:
    if isinstance(one.stream, RequestRejected):
        return _failed(one, one.stream, done)
    # The first batch of the response is returned whatever its size; later ones must fit.
    first = done.size_bytes == 0
    bytes_max = min(one.requested.partition_max_bytes, done.left)
    try:
        found = await services.log.read(
            one.stream, one.requested.fetch_offset, max(bytes_max, 0), whole_first=first
        )
    except EXPECTED as error:
        return _failed(one, error, done)
    done.slices.append(found)
    done.size_bytes += found.size_bytes
    done.left -= found.size_bytes
    return _found(one, found, isolation_level)


def _found(one: _Wanted, found: FetchSlice, isolation_level: int) -> PartitionData:
    return PartitionData(
        partition_index=one.requested.partition,
        high_watermark=found.head.high_watermark,
        last_stable_offset=found.head.high_watermark,
        log_start_offset=found.head.log_start,
        aborted_transactions=[] if isolation_level == _READ_COMMITTED else None,
        records=found.parts,
    )


def _failed(one: _Wanted, error: BaseException, done: _Attempt) -> PartitionData:
    done.failed = True
    code = code_of(error)
    return PartitionData(
        partition_index=one.requested.partition,
        error_code=code,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        current_leader=current_leader(error, LeaderIdAndEpoch),
        aborted_transactions=[] if code in _UNKNOWN else None,
        records=[],
    )


def _response(wanted: list[_Topic], done: _Attempt, context: Context) -> FetchResponse:
    return FetchResponse(
        responses=[
            FetchableTopicResponse(
                topic=topic.named.topic,
                topic_id=topic.named.topic_id,
                partitions=[_supported(one, context) for one in parts],
            )
            for topic, parts in zip(wanted, done.found, strict=True)
        ],
        node_endpoints=leader_endpoints(
            (one.stream for topic in wanted for one in topic.parts.values()), NodeEndpoint
        ),
    )


def _supported(one: PartitionData, context: Context) -> PartitionData:
    """Replace a storage error, which old clients do not know: it makes them look for the leader."""
    if one.error_code != ErrorCode.KAFKA_STORAGE_ERROR or context.version >= _STORAGE_ERROR_FROM_VERSION:
        return one
    return replace(one, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)


API: Final = Served(FETCH, versions=(4, 17), handle=handle, bytes_quota=QuotaKey.CONSUMER_BYTE_RATE)
