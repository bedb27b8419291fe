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
from dataclasses import dataclass
from functools import partial

from dray.api.errors import EXPECTED, Refused, code_of, message_of
from dray.api.exchange import CloseConnection, Context
from dray.api.services import Services, stream_at
from dray.api.topic_names import is_internal
from dray.api.topic_rules import SEGMENT_BYTES_MIN, codec_of, fits_segment, rules_of
from dray.cluster.topics import Topic
from dray.log import Appended
from dray.records import RecordError, ValidBatch, glance, recompressed, validate
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


@dataclass(frozen=True, slots=True)
class _Taken:
    """One partition's batch: on its way, or refused already."""

    index: int
    outcome: "Future[Appended] | BaseException"
    append_time_ms: int = -1
    newest_ms: int = -1
    """The highest of the batch's timestamps: what Kafka tells of a batch that it had before."""


async def begin(
    request: ProduceRequest, context: Context, services: Services
) -> Callable[[], Awaitable[ProduceResponse | None]]:
    """Take the batches; what is returned is the second half."""
    taken = [
        (topic, [await _take(request, topic, data, context, services) for data in topic.partition_data])
        for topic in request.topic_data
    ]
    if request.acks == 0:
        return partial(_say_nothing, taken)
    return partial(_answer, taken, max(request.timeout_ms / 1000, _SECONDS_MIN))


async def _take(
    request: ProduceRequest,
    named: TopicProduceData,
    data: PartitionProduceData,
    context: Context,
    services: Services,
) -> _Taken:
    try:
        topic = _find(named, context, services)
        stream = stream_at(topic, data.index)
        if topic is None or stream is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if is_internal(topic.name) and context.client_id != _MAY_WRITE_INTERNAL:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION)
        batch = _valid(request, topic, data, context, services)
        promise = await services.log.append(stream, batch)
        return _Taken(data.index, promise, batch.append_time_ms, batch.header.max_timestamp)
    except EXPECTED as error:
        return _Taken(data.index, error)


def _find(named: TopicProduceData, context: Context, services: Services) -> Topic | None:
    if context.version < _IDS_FROM_VERSION:
        return services.topics.find(named.name)
    topic = services.topics.find_id(named.topic_id)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_ID)
    return topic


def _valid(
    request: ProduceRequest,
    topic: Topic,
    data: PartitionProduceData,
    context: Context,
    services: Services,
) -> ValidBatch:
    if request.acks not in (-1, 0, 1):
        raise Refused(ErrorCode.INVALID_REQUIRED_ACKS)
    rules = rules_of(topic, zstd_allowed=context.version >= _ZSTD_FROM_VERSION)
    now_ms = services.clock.now_ms()
    batch = validate(data.records or memoryview(b""), rules, now_ms)
    if batch.header.is_transactional:
        code = ErrorCode.INVALID_TXN_STATE
        if request.transactional_id is None:
            code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        raise Refused(code, "transactions are not served")
    glance(batch, rules, now_ms)
    codec = codec_of(topic)
    stored = batch if codec is None else recompressed(batch, codec, rules.max_message_bytes)
    if stored.header.size_bytes > SEGMENT_BYTES_MIN and not fits_segment(stored, topic):
        raise Refused(ErrorCode.RECORD_LIST_TOO_LARGE)
    return stored


async def _answer(taken: list[tuple[TopicProduceData, list[_Taken]]], seconds: float) -> ProduceResponse:
    promises = [one.outcome for _, parts in taken for one in parts if isinstance(one.outcome, Future)]
    if promises:
        await asyncio.wait(promises, timeout=seconds)
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name, topic_id=topic.topic_id, partition_responses=[_tell(one) for one in parts]
            )
            for topic, parts in taken
        ]
    )


async def _say_nothing(taken: list[tuple[TopicProduceData, list[_Taken]]]) -> None:
    """With acks=0 nothing is answered; a refusal can only be told by closing the connection."""
    for topic, parts in taken:
        for one in parts:
            if not isinstance(one.outcome, Future):
                raise CloseConnection(f"acks=0 and {code_of(one.outcome).name} for {topic.name}-{one.index}")


def _tell(one: _Taken) -> PartitionProduceResponse:
    error = _error_of(one.outcome)
    if error is None:
        assert isinstance(one.outcome, Future)
        appended = one.outcome.result()
        return PartitionProduceResponse(
            index=one.index,
            base_offset=appended.base_offset,
            log_append_time_ms=one.newest_ms if appended.duplicate else one.append_time_ms,
            log_start_offset=appended.log_start,
        )
    faults = error.faults if isinstance(error, RecordError) else ()
    return PartitionProduceResponse(
        index=one.index,
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
