"""Requests of the data path, with defaults for most fields."""

from dataclasses import dataclass

from dray.wire.apis.fetch import FetchPartition, FetchRequest, FetchTopic
from dray.wire.apis.init_producer_id import InitProducerIdRequest
from dray.wire.apis.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from dray.wire.apis.produce import PartitionProduceData, ProduceRequest, TopicProduceData

LATEST, EARLIEST = -1, -2
PLENTY = 1 << 20


@dataclass(frozen=True, slots=True)
class Named:
    """A topic's name and id; each version of a request uses the one it has."""

    name: str
    topic_id: bytes


def produce(
    topic: Named,
    records: bytes | None,
    *,
    partition: int = 0,
    acks: int = -1,
    timeout_ms: int = 10_000,
    transactional_id: str | None = None,
) -> ProduceRequest:
    data = PartitionProduceData(index=partition, records=None if records is None else memoryview(records))
    named = TopicProduceData(name=topic.name, topic_id=topic.topic_id, partition_data=[data])
    return ProduceRequest(
        acks=acks, timeout_ms=timeout_ms, transactional_id=transactional_id, topic_data=[named]
    )


def fetch(
    topic: Named,
    *parts: FetchPartition,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 50 * PLENTY,
    isolation_level: int = 0,
    session: tuple[int, int] = (0, -1),
) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_id=session[0],
        session_epoch=session[1],
        topics=[FetchTopic(topic=topic.name, topic_id=topic.topic_id, partitions=list(parts))],
    )


def part(
    offset: int = 0, *, partition: int = 0, most: int = PLENTY, epoch: int = -1, last_epoch: int = -1
) -> FetchPartition:
    return FetchPartition(
        partition=partition,
        fetch_offset=offset,
        partition_max_bytes=most,
        current_leader_epoch=epoch,
        last_fetched_epoch=last_epoch,
    )


def idempotent(producer_id: int = -1, epoch: int = -1, timeout_ms: int = 1000) -> InitProducerIdRequest:
    """Return a request for a non-transactional producer id."""
    return InitProducerIdRequest(
        transactional_id=None,
        transaction_timeout_ms=timeout_ms,
        producer_id=producer_id,
        producer_epoch=epoch,
    )


def offsets(
    name: str, *timestamps: int, partition: int = 0, epoch: int = -1, isolation_level: int = 0
) -> ListOffsetsRequest:
    """Return a request with an entry for each timestamp; several make the partition a duplicate."""
    asked = [
        ListOffsetsPartition(partition_index=partition, current_leader_epoch=epoch, timestamp=timestamp)
        for timestamp in timestamps
    ]
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation_level,
        topics=[ListOffsetsTopic(name=name, partitions=asked)],
    )
