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
from dray.api.exchange import CloseConnection, Context, Peer
from dray.api.opening import must_open, opened
from dray.api.services import Services, stream_at
from dray.api.topic_names import is_internal
from dray.api.topic_rules import SEGMENT_BYTES_MIN, compression_of, fits_segment, rules_of
from dray.cluster.topics import Topic
from dray.log import Appended
from dray.records import BatchRules, RecordError, ValidBatch, glance, validate
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


async def begin(
    request: ProduceRequest, context: Context, services: Services
) -> Callable[[], Awaitable[ProduceResponse | None]]:
    """Take the batches; what is returned is the second half."""
    taken = [
        (topic, [await _take(request, topic, data, context, services) for data in topic.partition_data])
        for topic in request.topic_data
    ]
    if request.acks == 0:
        return partial(_say_nothing, taken, context.peer)
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
        rules = rules_of(topic, zstd_allowed=context.version >= _ZSTD_FROM_VERSION)
        now_ms = services.clock.now_ms()
        batch = _valid(request, data, rules, now_ms)
        wanted = compression_of(topic)
        if must_open(batch, rules, wanted):
            batch = await opened(batch, rules, wanted, now_ms, services.threads)
        else:
            glance(batch, rules, now_ms)
        if batch.header.size_bytes > SEGMENT_BYTES_MIN and not fits_segment(batch, topic):
            raise Refused(ErrorCode.RECORD_LIST_TOO_LARGE)
        promise = await services.log.append(stream, batch)
        return _Taken(data.index, promise, batch.append_time_ms)
    except EXPECTED as error:
        return _Taken(data.index, error)


def _find(named: TopicProduceData, context: Context, services: Services) -> Topic | None:
    if context.version < _IDS_FROM_VERSION:
        return services.topics.find(named.name)
    topic = services.topics.find_id(named.topic_id)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_ID)
    return topic


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


async def _say_nothing(taken: list[tuple[TopicProduceData, list[_Taken]]], peer: Peer) -> None:
    """With acks=0 nothing is answered; that a batch is not stored can only be told by closing the connection.

    The connection does not wait for it: what fails later closes it later.
    """
    for topic, parts in taken:
        for one in parts:
            if not isinstance(one.outcome, Future):
                raise CloseConnection(_unstored(one.outcome, topic, one.index))
            one.outcome.add_done_callback(partial(_hang_up_if_failed, peer, topic, one.index))


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
            index=one.index,
            base_offset=appended.base_offset,
            # Of a batch that came before, Kafka tells the newest timestamp it had then, of whichever type.
            log_append_time_ms=appended.newest_ms if appended.duplicate else one.append_time_ms,
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
