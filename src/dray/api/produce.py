"""Produce (key 0), versions 3 to 13.

Version notes:
- 3: record batches (message format v2) and transactional id (KIP-98).
- 5: log start offset in the response.
- 7: zstd (KIP-110).
- 8: errors of single records (KIP-467).
- 9: flexible.
- 10: current leader and node endpoints in the response (KIP-951).
- 11, 12: transactions V2 (KIP-890).
- 13: topic ids (KIP-516).

Differences from Kafka:
- acks=1 waits as long as acks=all: nothing is durable earlier.
- `request.timeout.ms` below one second counts as one second.
- Transactional batches are refused.
- Of a large batch only the first records are validated, unless its timestamps are inconsistent, the topic is
  compacted, or the topic stores another codec (`dray.records.shallow_validate`). A maxTimestamp that is wrong
  but plausible counts in lookups by time and for `retention.ms` until the batch is compacted.
- Unknown codecs get UNSUPPORTED_COMPRESSION_TYPE, bytes that are not of their codec get INVALID_RECORD (Kafka
  returns UNKNOWN_SERVER_ERROR).
- Only the batch with a broken frame is rejected; Kafka rejects the request.
- NOT_LEADER_OR_FOLLOWER is returned only with `routing.enforce_owner`, and by a broker that shuts down.
- Versions 0 to 2 are advertised but not served, as in Kafka: older librdkafka compresses only if it sees
  them.

The handler has two phases. The first adds every batch to the log's buffers, in order; then the connection may
continue with the next request. The second, its completion, waits until the batches are durable, and answers.
A batch that is not durable in time gets REQUEST_TIMED_OUT and may still be committed, as in Kafka.
"""

import asyncio
from asyncio import Future
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Final

from dray.api.errors import EXPECTED, code_of, message_of
from dray.api.exchange import CloseConnection, Context, Peer
from dray.api.partitions import current_leader, leader_endpoints
from dray.api.produce_batches import (
    Appending,
    Unread,
    ValidPartition,
    reencoded_batch,
    target_of,
    validated_batch,
)
from dray.api.served import Served
from dray.api.services import Services
from dray.log import Appended, Log
from dray.quotas import QuotaKey
from dray.records import RecordError
from dray.wire.apis.produce import (
    PRODUCE,
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

_SECONDS_MIN = 1.0
"""In Kafka the timeout is for replication, not for the leader's own write; ours includes the write."""


async def begin(
    request: ProduceRequest, context: Context, services: Services
) -> Callable[[], Awaitable[ProduceResponse | None]]:
    """Append the batches to the log's buffers; the returned function waits and answers."""
    validated = []
    log, now_ms, size = services.log, services.clock.now_ms(), 0
    for named in request.topic_data:
        target = target_of(named, context, services)
        parts: list[ValidPartition | Appending] = []
        for data in named.partition_data:
            one = validated_batch(request, target, data, services.routing, now_ms)
            if isinstance(one, Unread):
                one = await reencoded_batch(one, now_ms, services)
            if isinstance(one, ValidPartition):
                size += one.batch.header.size_bytes
            parts.append(one)
        validated.append((named, parts))
    appending = [
        (named, [_try_append(one, size, log) or await _append(one, size, log) for one in parts])
        for named, parts in validated
    ]
    if request.acks == 0:
        return partial(_answer_nothing, appending, context.peer)
    return partial(_answer, appending, max(request.timeout_ms / 1000, _SECONDS_MIN))


def _try_append(one: ValidPartition | Appending, request_bytes: int, log: Log) -> Appending | None:
    """Append a valid batch; None if it has to wait for memory."""
    if isinstance(one, Appending):
        return one
    try:
        future = log.try_append(one.stream, one.batch, together_bytes=request_bytes)
    except EXPECTED as error:
        return Appending(one.partition, error)
    return None if future is None else Appending(one.partition, future, one.batch.append_time_ms)


async def _append(one: ValidPartition | Appending, request_bytes: int, log: Log) -> Appending:
    if isinstance(one, Appending):
        return one
    try:
        future = await log.append(one.stream, one.batch, together_bytes=request_bytes)
        return Appending(one.partition, future, one.batch.append_time_ms)
    except EXPECTED as error:
        return Appending(one.partition, error)


async def _answer(
    appending: list[tuple[TopicProduceData, list[Appending]]], seconds: float
) -> ProduceResponse:
    outcomes = [one.outcome for _, parts in appending for one in parts]
    waiting = [one for one in outcomes if isinstance(one, Future) and not one.done()]
    if waiting:  # often all were committed together with batches of an earlier request
        await _wait(waiting, seconds)
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name, topic_id=topic.topic_id, partition_responses=[_result(one) for one in parts]
            )
            for topic, parts in appending
        ],
        node_endpoints=leader_endpoints(
            [one for one in outcomes if not isinstance(one, Future)], NodeEndpoint
        ),
    )


async def _wait(futures: list["Future[Appended]"], seconds: float) -> None:
    """Wait until all are done, or the timeout is over.

    Batches of one request are mostly committed together: when one is done, all are. Waiting for one is much
    cheaper than waiting for many.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            for future in futures:
                if not future.done():
                    await asyncio.wait((future,))


async def _answer_nothing(appending: list[tuple[TopicProduceData, list[Appending]]], peer: Peer) -> None:
    """Without a response (acks=0), close the connection if a batch cannot be stored.

    The next request does not wait for it: a later failure closes the connection later.
    """
    for topic, parts in appending:
        for one in parts:
            if not isinstance(one.outcome, Future):
                raise CloseConnection(_failure(one.outcome, topic, one.partition))
            one.outcome.add_done_callback(partial(_disconnect_if_failed, peer, topic, one.partition))


def _disconnect_if_failed(
    peer: Peer, topic: TopicProduceData, index: int, outcome: "Future[Appended]"
) -> None:
    error = None if outcome.cancelled() else outcome.exception()
    if error is not None:
        peer.disconnect(_failure(error, topic, index))


def _failure(error: BaseException, topic: TopicProduceData, index: int) -> str:
    return f"acks=0 and {code_of(error).name} for {topic.name or topic.topic_id.hex()}-{index}"


def _result(one: Appending) -> PartitionProduceResponse:
    outcome = one.outcome
    error = _error_of(outcome)
    if error is None:
        assert isinstance(outcome, Future)
        appended = outcome.result()
        return PartitionProduceResponse(
            index=one.partition,
            base_offset=appended.base_offset,
            # For a duplicate batch Kafka returns the newest timestamp of the original, of either type.
            log_append_time_ms=appended.newest_ms if appended.duplicate else one.append_time_ms,
            log_start_offset=appended.log_start,
        )
    records = error.faults if isinstance(error, RecordError) else ()
    return PartitionProduceResponse(
        index=one.partition,
        error_code=code_of(error),
        base_offset=-1,
        error_message=message_of(error),
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=record.index, batch_index_error_message=record.message)
            for record in records
        ],
        current_leader=current_leader(error, LeaderIdAndEpoch),
    )


def _error_of(outcome: "Future[Appended] | BaseException") -> BaseException | None:
    if isinstance(outcome, BaseException):
        return outcome
    if not outcome.done():
        return TimeoutError("the batch was not durable in time; it may still be committed")
    return outcome.exception()


API: Final = Served(
    PRODUCE,
    versions=(3, 13),
    begin=begin,
    advertised_from=0,
    bytes_quota=QuotaKey.PRODUCER_BYTE_RATE,
)
