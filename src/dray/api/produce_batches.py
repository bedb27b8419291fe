"""Batches of a Produce request, validated as their topics need it, before any of them is appended."""

from asyncio import Future
from typing import NamedTuple

from dray.acls import Operation
from dray.api.errors import EXPECTED, RequestRejected
from dray.api.exchange import Context
from dray.api.partitions import check_leader, stream_at
from dray.api.reencode import must_read_records, reencode
from dray.api.services import Services
from dray.cluster.routing import Routing
from dray.cluster.topic_names import is_internal
from dray.cluster.topic_rules import SEGMENT_BYTES_MIN, fits_segment, rules_of
from dray.cluster.topics import Topic
from dray.cluster.zones import Origin
from dray.ids import StreamId
from dray.log import Appended
from dray.records import BatchRules, Compression, ValidBatch, shallow_validate, validate
from dray.wire import ErrorCode
from dray.wire.apis.produce import PartitionProduceData, ProduceRequest, TopicProduceData

_ZSTD_FROM_VERSION = 7
_IDS_FROM_VERSION = 13
_MAY_WRITE_INTERNAL = "__admin_client"
"""The client id with which Kafka's tools write to internal topics."""


class Appending(NamedTuple):
    """The batch of a partition: appended to the log's buffers, or refused."""

    partition: int
    outcome: "Future[Appended] | BaseException"
    append_time_ms: int = -1


class ValidPartition(NamedTuple):
    """A valid batch of a partition."""

    partition: int
    stream: StreamId
    batch: ValidBatch


class Target(NamedTuple):
    """A topic of the request, and its rules for batches."""

    topic: Topic
    rules: BatchRules
    compression: Compression | None
    is_read_only: bool
    """Whether this client must not write to it."""
    origin: Origin
    """Where the client comes from."""


class Unread(NamedTuple):
    """A batch of which every record must still be read."""

    partition: int
    stream: StreamId
    batch: ValidBatch
    target: Target


def target_of(named: TopicProduceData, context: Context, services: Services) -> Target | RequestRejected:
    """Look up a topic and its rules, once for all its batches."""
    if context.version < _IDS_FROM_VERSION:
        topic, unknown = services.topics.find(named.name), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    else:
        topic, unknown = services.topics.find_id(named.topic_id), ErrorCode.UNKNOWN_TOPIC_ID
    name = named.name if topic is None else topic.name
    if name and not context.access.allows_on_topic(Operation.WRITE, name):
        return RequestRejected(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if topic is None:
        return RequestRejected(unknown)
    rules, compression = rules_of(topic, zstd_allowed=context.version >= _ZSTD_FROM_VERSION)
    is_read_only = is_internal(topic.name) and context.client_id != _MAY_WRITE_INTERNAL
    return Target(topic, rules, compression, is_read_only, context.origin)


def validated_batch(
    request: ProduceRequest,
    target: Target | RequestRejected,
    data: PartitionProduceData,
    routing: Routing,
    now_ms: int,
) -> ValidPartition | Unread | Appending:
    """Validate a batch as far as its topic needs it, before any batch of the request is appended."""
    try:
        if isinstance(target, RequestRejected):
            return Appending(data.index, target)
        topic, rules, wanted, is_read_only, origin = target
        stream = stream_at(topic, data.index)
        if stream is None:
            raise RequestRejected(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if is_read_only:
            raise RequestRejected(ErrorCode.INVALID_TOPIC_EXCEPTION)
        if (elsewhere := check_leader(stream, origin, routing)) is not None:
            return Appending(data.index, elsewhere)
        batch = _parsed(request, data, rules, now_ms)
        checked = None
        if not must_read_records(batch, rules, wanted, now_ms):
            checked = shallow_validate(batch, rules, now_ms)
        if checked is None:
            return Unread(data.index, stream, batch, target)
        return _fitting(data.index, stream, checked, topic)
    except EXPECTED as error:
        return Appending(data.index, error)


async def reencoded_batch(unread: Unread, now_ms: int, services: Services) -> ValidPartition | Appending:
    """Validate all records of a batch, and compress them as the topic needs it."""
    partition, stream, batch, (topic, rules, wanted, *_) = unread
    try:
        read = await reencode(batch, rules, wanted, now_ms, services.threads)
        return _fitting(partition, stream, read, topic)
    except EXPECTED as error:
        return Appending(partition, error)


def _fitting(partition: int, stream: StreamId, batch: ValidBatch, topic: Topic) -> ValidPartition:
    if batch.header.size_bytes > SEGMENT_BYTES_MIN and not fits_segment(batch, topic):
        raise RequestRejected(ErrorCode.RECORD_LIST_TOO_LARGE)
    return ValidPartition(partition, stream, batch)


def _parsed(
    request: ProduceRequest, data: PartitionProduceData, rules: BatchRules, now_ms: int
) -> ValidBatch:
    if request.acks not in (-1, 0, 1):
        raise RequestRejected(ErrorCode.INVALID_REQUIRED_ACKS)
    batch = validate(data.records or memoryview(b""), rules, now_ms)
    if batch.header.is_transactional:
        code = ErrorCode.INVALID_TXN_STATE
        if request.transactional_id is None:
            code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        raise RequestRejected(code, "transactions are not supported")
    return batch
