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
- A deleted topic in a session by id gets UNKNOWN_TOPIC_ID (Kafka returns UNKNOWN_TOPIC_OR_PARTITION).
- The leader epoch is always 0.
- READ_COMMITTED and READ_UNCOMMITTED return the same records, because there are no transactions.
- Negative limits are treated as 0 (Kafka returns UNKNOWN_SERVER_ERROR).
- NOT_LEADER_OR_FOLLOWER is returned only with `routing.enforce_owner`, and by a broker that shuts down.
- Records always end at a batch boundary; Kafka may cut the last batch short.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from dray.acls import Operation, ResourceType
from dray.api.authorization import denied
from dray.api.errors import EXPECTED, RequestRejected, code_of
from dray.api.exchange import Context
from dray.api.fetch_sessions import (
    NO_SESSION,
    FetchedPartition,
    FetchSession,
    PartitionKey,
    requested_partitions,
)
from dray.api.partitions import check_leader, check_leader_epoch, current_leader, leader_endpoints, stream_at
from dray.api.served import Served
from dray.api.services import Services
from dray.cluster.topics import Topic
from dray.ids import StreamId
from dray.log import LEADER_EPOCH, FetchSlice, StreamWatch, detach_buffers
from dray.quotas import QuotaKey
from dray.wire import ErrorCode
from dray.wire.apis.fetch import (
    FETCH,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)

_IDS_FROM_VERSION = 13
_STORAGE_ERROR_FROM_VERSION = 6
_READ_COMMITTED = 1
_READ_ONE_BY_ONE_MAX = 8
"""For more partitions than these, their ends are read together."""
_UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A partition to read, and its stream or the error."""

    partition: FetchedPartition
    stream: StreamId | RequestRejected


@dataclass(slots=True)
class _Attempt:
    """One read of all partitions, in the order of the request, within the limits."""

    left: int
    found: list[tuple[_Wanted, PartitionData]] = field(default_factory=list)
    slices: list[FetchSlice] = field(default_factory=list)
    size_bytes: int = 0
    failed: bool = False


class _Limits:
    """When and how large the response of a request is."""

    def __init__(self, request: FetchRequest, context: Context, services: Services) -> None:
        self.bytes_max = max(0, min(request.max_bytes, services.settings.fetch_max_bytes))
        if context.quota is not None:  # a larger response would always be above the client's limit
            self.bytes_max = min(self.bytes_max, context.quota.fetch_bytes_max)
        self._enough = min(request.min_bytes, self.bytes_max)
        self._deadline = services.clock.monotonic() + request.max_wait_ms / 1000
        self._services = services

    def left_s(self) -> float:
        return self._deadline - self._services.clock.monotonic()

    def are_met(self, done: _Attempt) -> bool:
        """Return whether the client need not wait, as in Kafka: enough bytes, or any error."""
        return done.size_bytes >= self._enough or done.failed

    def answers(self, done: _Attempt) -> bool:
        """Return whether the client gets this now: it need not wait, or cannot wait any longer."""
        return self.are_met(done) or self.left_s() <= 0 or self._services.drain.started


async def handle(request: FetchRequest, context: Context, services: Services) -> FetchResponse:
    uses_ids = context.version >= _IDS_FROM_VERSION
    try:
        session = services.fetch_sessions.resume(request, uses_ids=uses_ids)
    except RequestRejected as rejected:
        return FetchResponse(error_code=rejected.code)
    limits = _Limits(request, context, services)
    if session is not None:
        return await _incremental(session, request, limits, context, services)
    return await _full(request, limits, context, services)


async def _full(
    request: FetchRequest, limits: _Limits, context: Context, services: Services
) -> FetchResponse:
    """Read all partitions of the request, and open a session for them if the client wants one."""
    partitions = requested_partitions(request)
    resolution = _resolution(context, services)
    wanted = _resolve(partitions.values(), context, services)
    watch = services.log.watch()
    session = None
    try:
        for one in wanted:
            if not isinstance(one.stream, RequestRejected):
                one.partition.stream = one.stream
                watch.add(one.stream)
        caught_up = len(wanted) > _READ_ONE_BY_ONE_MAX and await watch.sync()
        while True:
            watch.clear()
            done = await _read_all(
                wanted, request.isolation_level, limits.bytes_max, services, caught_up=caught_up
            )
            caught_up = True
            if watch.is_empty or limits.answers(done):
                break
            await _pause(watch, limits.left_s(), context, services)
        uses_ids = context.version >= _IDS_FROM_VERSION
        session = services.fetch_sessions.open(request, partitions, watch, uses_ids=uses_ids)
    finally:
        if session is None:
            watch.close()
    if session is not None:
        session.resolve_by(resolution)
        for one, data in done.found:
            session.sent(one.partition, data)
    number = NO_SESSION if session is None else session.number
    return _response(done.found, context, number, failed=done.failed)


async def _incremental(
    session: FetchSession, request: FetchRequest, limits: _Limits, context: Context, services: Services
) -> FetchResponse:
    """Read the partitions of a session that may have news, and return those that have.

    Before a client waits, or gets nothing, the watch catches up with partitions that are not due, so that
    what was acknowledged before the request is seen.
    """
    epoch, watch, caught_up = session.epoch, session.watch, False
    session.resolve_by(_resolution(context, services))
    while session.epoch == epoch:
        watch.clear()
        wanted = _watched(session, _resolve(session.due(), context, services))
        done = await _read_all(
            wanted, request.isolation_level, limits.bytes_max, services, caught_up=caught_up
        )
        if not caught_up and not limits.are_met(done):
            await watch.catch_up(
                {one.stream for one in wanted if not isinstance(one.stream, RequestRejected)}
            )
            caught_up = True
            if watch.is_set():
                continue
        if session.epoch != epoch:
            break
        news = [(one, data) for one, data in done.found if one.partition.is_news(data)]
        if limits.answers(done):
            for one, data in done.found:
                session.sent(one.partition, data)
            return _response(news, context, session.number, failed=done.failed)
        for one, data in done.found:
            if not one.partition.is_news(data):
                session.settle(one.partition, data)
        await _pause(watch, limits.left_s(), context, services)
    # The client has sent another request meanwhile.
    return FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH, session_id=session.number)


def _resolution(context: Context, services: Services) -> object:
    """Return a value that changes when partitions of a client may resolve to other streams or errors."""
    access = context.access
    return (
        services.topics.version,
        services.routing.version,
        access.authorizer,
        access.caller.principal,
        access.caller.host,
        context.origin,
    )


def _watched(session: FetchSession, wanted: list[_Wanted]) -> list[_Wanted]:
    for one in wanted:
        session.watch_stream(one.partition, None if isinstance(one.stream, RequestRejected) else one.stream)
    return wanted


async def _pause(watch: StreamWatch, seconds: float, context: Context, services: Services) -> None:
    """Wait until a stream may have changed, the maximum wait is over, or the broker shuts down."""
    began = services.clock.monotonic()
    services.drain.watch(watch)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await watch.wait()
    finally:
        services.drain.unwatch(watch)
    context.waited.seconds += services.clock.monotonic() - began


def _resolve(partitions: Iterable[FetchedPartition], context: Context, services: Services) -> list[_Wanted]:
    """Find the streams of partitions; each topic is looked up and authorized once."""
    topics: dict[tuple[str, bytes], Topic | RequestRejected] = {}
    wanted = []
    for one in partitions:
        name = one.key[:2]
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = _topic(one.key, context, services)
        if not isinstance(topic, RequestRejected):
            wanted.append(_Wanted(one, _stream(topic, one.requested, context, services)))
        else:
            wanted.append(_Wanted(one, topic))
    return wanted


def _topic(key: PartitionKey, context: Context, services: Services) -> Topic | RequestRejected:
    if context.version < _IDS_FROM_VERSION:
        topic, unknown = services.topics.find(key.topic), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    else:
        topic, unknown = services.topics.find_id(key.topic_id), ErrorCode.UNKNOWN_TOPIC_ID
    name = key.topic if topic is None else topic.name
    if name and not context.access.allows_on_topic(Operation.READ, name):
        return denied(ResourceType.TOPIC)
    return RequestRejected(unknown) if topic is None else topic


def _stream(
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


async def _read_all(
    wanted: list[_Wanted], isolation_level: int, limit: int, services: Services, *, caught_up: bool = False
) -> _Attempt:
    done = _Attempt(limit)
    for one in wanted:
        data = await _read(one, isolation_level, done, services, caught_up=caught_up)
        done.found.append((one, data))
    detach_buffers(done.slices)
    return done


async def _read(
    one: _Wanted, isolation_level: int, done: _Attempt, services: Services, *, caught_up: bool
) -> PartitionData:
    if isinstance(one.stream, RequestRejected):
        return _failed(one, one.stream, done)
    requested = one.partition.requested
    # The first batch of the response is returned whatever its size; later ones must fit.
    first = done.size_bytes == 0
    bytes_max = max(min(requested.partition_max_bytes, done.left), 0)
    try:
        found = await services.log.read(
            one.stream, requested.fetch_offset, bytes_max, whole_first=first, caught_up=caught_up
        )
    except EXPECTED as error:
        return _failed(one, error, done)
    done.slices.append(found)
    done.size_bytes += found.size_bytes
    done.left -= found.size_bytes
    return _found(requested, found, isolation_level)


def _found(requested: FetchPartition, found: FetchSlice, isolation_level: int) -> PartitionData:
    return PartitionData(
        partition_index=requested.partition,
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
        partition_index=one.partition.requested.partition,
        error_code=code,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        current_leader=current_leader(error, LeaderIdAndEpoch),
        aborted_transactions=[] if code in _UNKNOWN else None,
        records=[],
    )


def _response(
    found: list[tuple[_Wanted, PartitionData]], context: Context, session: int, *, failed: bool
) -> FetchResponse:
    """Return the response; partitions of one topic that follow each other are one entry."""
    topics: list[FetchableTopicResponse] = []
    last = None
    for one, data in found:
        name = one.partition.key[:2]
        if name != last:
            last = name
            topics.append(FetchableTopicResponse(topic=name[0], topic_id=name[1], partitions=[]))
        topics[-1].partitions.append(_supported(data, context))
    return FetchResponse(
        session_id=session,
        responses=topics,
        node_endpoints=leader_endpoints((one.stream for one, _ in found), NodeEndpoint) if failed else [],
    )


def _supported(one: PartitionData, context: Context) -> PartitionData:
    """Replace a storage error, which old clients do not know: it makes them look for the leader."""
    if one.error_code != ErrorCode.KAFKA_STORAGE_ERROR or context.version >= _STORAGE_ERROR_FROM_VERSION:
        return one
    return replace(one, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)


API: Final = Served(FETCH, versions=(4, 17), handle=handle, bytes_quota=QuotaKey.CONSUMER_BYTE_RATE)
