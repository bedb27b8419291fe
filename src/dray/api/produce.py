"""Produce (key 0). Versions 3 to 13, advertised from 0 as Kafka does it.

Deviations: acks=1 waits as long as acks=all, because nothing is durable before; a time limit under a second
counts as one. A batch that is not durable within the time limit is answered with REQUEST_TIMED_OUT and may
still be committed, as in Kafka. Transactional batches are refused, as transactions are not served. A batch
whose very frame is broken is refused alone, where Kafka refuses the whole request. How far records are looked
into: `dray.records.glance`.

A produce has two halves. The first takes every batch into the log's buffers, in order; then the connection
may go on with the next request. The second waits until they are durable, and answers.
"""

import asyncio
from asyncio import Future
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from dray.api.errors import EXPECTED, Refused, code_of, message_of
from dray.api.exchange import CloseConnection, Context, Peer
from dray.api.opening import must_open, opened
from dray.api.services import Services, stream_at
from dray.cluster.topic_names import is_internal
from dray.cluster.topic_rules import SEGMENT_BYTES_MIN, compression_of, fits_segment, rules_of
from dray.cluster.topics import Topic
from dray.ids import StreamId
from dray.log import Appended, Log
from dray.records import BatchRules, Compression, RecordError, ValidBatch, glance, validate
from dray.wire import ErrorCode
from dray.wire.apis.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

_ZSTD_FROM_VERSION = 7
_IDS_FROM_VERSION = 13
_MAY_WRITE_INTERNAL = "__admin_client"
"""The client id that Kafka's own tools use for it."""
_SECONDS_MIN = 1.0
"""In Kafka the time limit is for replicas; the leader's own write is not counted. Ours must have its time."""


class _Taken(NamedTuple):
    """One partition's batch: on its way, or refused already."""

    partition: int
    outcome: "Future[Appended] | BaseException"
    append_time_ms: int = -1


class _Sound(NamedTuple):
    """One partition's batch that may be stored."""

    partition: int
    stream: StreamId
    batch: ValidBatch


async def begin(
    request: ProduceRequest, context: Context, services: Services
) -> Callable[[], Awaitable[ProduceResponse | None]]:
    """Take the batches; what is returned is the second half."""
    judged = []
    for named in request.topic_data:
        target = _target(named, context, services)
        judged.append(
            (named, [await _judge(request, target, data, services) for data in named.partition_data])
        )
    size = sum(one.batch.header.size_bytes for _, parts in judged for one in parts if isinstance(one, _Sound))
    taken = [(named, [await _take(one, size, services.log) for one in parts]) for named, parts in judged]
    if request.acks == 0:
        return partial(_say_nothing, taken, context.peer)
    return partial(_answer, taken, max(request.timeout_ms / 1000, _SECONDS_MIN))


class _Target(NamedTuple):
    """A topic to be written to, and what it asks of batches."""

    topic: Topic
    rules: BatchRules
    compression: Compression | None
    is_closed: bool
    """Whether this client may not write to it."""


def _target(named: TopicProduceData, context: Context, services: Services) -> _Target | Refused:
    """Find out once what all batches for a topic need."""
    if context.version < _IDS_FROM_VERSION:
        topic, unknown = services.topics.find(named.name), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    else:
        topic, unknown = services.topics.find_id(named.topic_id), ErrorCode.UNKNOWN_TOPIC_ID
    if topic is None:
        return Refused(unknown)
    rules = rules_of(topic, zstd_allowed=context.version >= _ZSTD_FROM_VERSION)
    is_closed = is_internal(topic.name) and context.client_id != _MAY_WRITE_INTERNAL
    return _Target(topic, rules, compression_of(topic), is_closed)


async def _judge(
    request: ProduceRequest, target: _Target | Refused, data: PartitionProduceData, services: Services
) -> _Sound | _Taken:
    """Look at a batch as closely as its topic asks, before any of the request is taken."""
    try:
        if isinstance(target, Refused):
            return _Taken(data.index, target)
        topic, rules, wanted, is_closed = target
        stream = stream_at(topic, data.index)
        if stream is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if is_closed:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION)
        now_ms = services.clock.now_ms()
        batch = _valid(request, data, rules, now_ms)
        if must_open(batch, rules, wanted):
            batch = await opened(batch, rules, wanted, now_ms, services.threads)
        else:
            glance(batch, rules, now_ms)
        if batch.header.size_bytes > SEGMENT_BYTES_MIN and not fits_segment(batch, topic):
            raise Refused(ErrorCode.RECORD_LIST_TOO_LARGE)
        return _Sound(data.index, stream, batch)
    except EXPECTED as error:
        return _Taken(data.index, error)


async def _take(one: _Sound | _Taken, request_bytes: int, log: Log) -> _Taken:
    if isinstance(one, _Taken):
        return one
    try:
        promise = await log.append(one.stream, one.batch, together_bytes=request_bytes)
        return _Taken(one.partition, promise, one.batch.append_time_ms)
    except EXPECTED as error:
        return _Taken(one.partition, error)


def _valid(request: ProduceRequest, data: PartitionProduceData, rules: BatchRules, now_ms: int) -> ValidBatch:
    if request.acks not in (-1, 0, 1):
        raise Refused(ErrorCode.INVALID_REQUIRED_ACKS)
    batch = validate(data.records or memoryview(b""), rules, now_ms)
    if batch.header.is_transactional:
        code = ErrorCode.INVALID_TXN_STATE
        if request.transactional_id is None:
            code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        raise Refused(code, "transactions are not served")
    return batch


async def _answer(taken: list[tuple[TopicProduceData, list[_Taken]]], seconds: float) -> ProduceResponse:
    await _wait(
        [one.outcome for _, parts in taken for one in parts if isinstance(one.outcome, Future)], seconds
    )
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name, topic_id=topic.topic_id, partition_responses=[_tell(one) for one in parts]
            )
            for topic, parts in taken
        ]
    )


async def _wait(promises: list["Future[Appended]"], seconds: float) -> None:
    """Wait until all are done, but not longer than that.

    Batches that came together are mostly committed together: when one is done, all are. To wait for one is
    much cheaper than to wait for many.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            for promise in promises:
                if not promise.done():
                    await asyncio.wait((promise,))


async def _say_nothing(taken: list[tuple[TopicProduceData, list[_Taken]]], peer: Peer) -> None:
    """With acks=0 nothing is answered; that a batch is not stored can only be told by closing the connection.

    The connection does not wait for it: what fails later closes it later.
    """
    for topic, parts in taken:
        for one in parts:
            if not isinstance(one.outcome, Future):
                raise CloseConnection(_unstored(one.outcome, topic, one.partition))
            one.outcome.add_done_callback(partial(_hang_up_if_failed, peer, topic, one.partition))


def _hang_up_if_failed(peer: Peer, topic: TopicProduceData, index: int, outcome: "Future[Appended]") -> None:
    error = None if outcome.cancelled() else outcome.exception()
    if error is not None:
        peer.hang_up(_unstored(error, topic, index))


def _unstored(error: BaseException, topic: TopicProduceData, index: int) -> str:
    return f"acks=0 and {code_of(error).name} for {topic.name or topic.topic_id.hex()}-{index}"


def _tell(one: _Taken) -> PartitionProduceResponse:
    error = _error_of(one.outcome)
    if error is None:
        assert isinstance(one.outcome, Future)
        appended = one.outcome.result()
        return PartitionProduceResponse(
            index=one.partition,
            base_offset=appended.base_offset,
            # Of a batch that came before, Kafka tells the newest timestamp it had then, of whichever type.
            log_append_time_ms=appended.newest_ms if appended.duplicate else one.append_time_ms,
            log_start_offset=appended.log_start,
        )
    faults = error.faults if isinstance(error, RecordError) else ()
    return PartitionProduceResponse(
        index=one.partition,
        error_code=code_of(error),
        base_offset=-1,
        error_message=message_of(error),
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=fault.index, batch_index_error_message=fault.message)
            for fault in faults
        ],
    )


def _error_of(outcome: "Future[Appended] | BaseException") -> BaseException | None:
    if isinstance(outcome, BaseException):
        return outcome
    if not outcome.done():
        return TimeoutError("the batch was not durable in time; it may still be committed")
    return outcome.exception()
