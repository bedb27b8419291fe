"""Produce (key 0). Versions 3 to 13, advertised from 0 as Kafka does it.

Deviations: acks=1 waits as long as acks=all, because nothing is durable before. Transactional batches are
refused, as transactions are not served. A batch that is not durable within the request's time limit is
answered with REQUEST_TIMED_OUT and may still be committed, as in Kafka.

A produce has two halves. The first takes every batch into the log's buffers, in order; then the connection
may go on with the next request. The second waits until they are durable, and answers.
"""

import asyncio
from asyncio import Future
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from dray.api.errors import EXPECTED, Refused, code_of
from dray.api.exchange import CloseConnection, Context
from dray.api.services import Services, stream_at
from dray.api.topic_rules import rules_of
from dray.cluster.topics import Topic
from dray.log import Appended
from dray.records import RecordError, ValidBatch, validate
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
        return partial(_say_nothing, taken)
    return partial(_answer, taken, request.timeout_ms / 1000)


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
        batch = _valid(request, topic, data, context, services)
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
    batch = validate(data.records or memoryview(b""), rules, services.clock.now_ms())
    if batch.header.is_transactional:
        code = ErrorCode.INVALID_TXN_STATE
        if request.transactional_id is None:
            code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        raise Refused(code, "transactions are not served")
    return batch


async def _answer(taken: list[tuple[TopicProduceData, list[_Taken]]], seconds: float) -> ProduceResponse:
    promises = [one.outcome for _, parts in taken for one in parts if isinstance(one.outcome, Future)]
    if promises:
        await asyncio.wait(promises, timeout=max(seconds, 0))
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
            log_append_time_ms=one.append_time_ms,
            log_start_offset=appended.log_start,
        )
    faults = error.faults if isinstance(error, RecordError) else ()
    return PartitionProduceResponse(
        index=one.index,
        error_code=code_of(error),
        base_offset=-1,
        error_message=str(error) or None,
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
