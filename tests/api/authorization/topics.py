"""Steps about topics and their records."""

from collections.abc import Iterable
from typing import Final

from dray.wire.apis.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from dray.wire.apis.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from dray.wire.apis.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from dray.wire.apis.delete_topics import DeleteTopicsRequest, DeleteTopicState
from dray.wire.apis.describe_producers import DescribeProducersRequest
from dray.wire.apis.describe_producers import TopicRequest as ProducersOfTopic
from dray.wire.apis.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest, TopicRequest
from dray.wire.apis.fetch import FetchRequest, FetchTopic
from dray.wire.apis.init_producer_id import InitProducerIdRequest
from dray.wire.apis.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from dray.wire.apis.metadata import MetadataRequest, MetadataRequestTopic
from dray.wire.apis.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from dray.wire.apis.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.api.authorization.steps import Step
from tests.api.authorization.world import CREATED, MISSING, PRESENT, UNKNOWN_ID, World
from tests.oracle.batches import batch
from tests.oracle.requests import LATEST, part

ALL: Final = (*PRESENT, *MISSING)
_OLD_RECORDS: Final = 3
_ZERO_ID: Final = bytes(16)


def produced(
    world: World,
    names: Iterable[str],
    *,
    acks: int = -1,
    partition: int = 0,
    transactional_id: str | None = None,
    transactional: bool = False,
) -> ProduceRequest:
    records = batch(b"v", producer=(1, 0, 0) if transactional else (-1, -1, -1), transactional=transactional)
    topics = [
        TopicProduceData(
            name=name,
            topic_id=world.topic_id(name),
            partition_data=[PartitionProduceData(index=partition, records=memoryview(records))],
        )
        for name in names
    ]
    return ProduceRequest(acks=acks, timeout_ms=30_000, transactional_id=transactional_id, topic_data=topics)


PRODUCE: Final = (
    Step(ProduceRequest, "by name", lambda world, _: produced(world, ALL), (3, 8, 12)),
    # From version 13 on, topics with the same unknown id are one.
    Step(ProduceRequest, "by id", lambda world, _: produced(world, (*PRESENT, "other-missing")), (13,)),
    Step(ProduceRequest, "no such partition", lambda world, _: produced(world, PRESENT, partition=7), (12,)),
    Step(
        ProduceRequest,
        "without response, allowed",
        lambda world, _: produced(world, ["exact"], acks=0),
        (12, 13),
    ),
    Step(
        ProduceRequest,
        "without response, several",
        lambda world, _: produced(world, PRESENT, acks=0),
        (12, 13),
    ),
    Step(ProduceRequest, "invalid acks", lambda world, _: produced(world, PRESENT, acks=2), (12,)),
    Step(
        ProduceRequest,
        "with a transactional id that is denied",
        lambda world, _: produced(world, ["exact"], transactional_id="other"),
        (3, 12),
    ),
    Step(
        ProduceRequest,
        "of a transaction that is denied",
        lambda world, _: produced(world, ["exact"], transactional_id="other", transactional=True),
        (3, 12),
    ),
)


def fetched(world: World, names: Iterable[str], *, partition: int = 0) -> FetchRequest:
    topics = [
        FetchTopic(topic=name, topic_id=world.topic_id(name), partitions=[part(partition=partition)])
        for name in names
    ]
    return FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, session_epoch=-1, topics=topics)


FETCH: Final = (
    Step(FetchRequest, "by name", lambda world, _: fetched(world, ALL), (4, 11, 12)),
    Step(FetchRequest, "by id", lambda world, _: fetched(world, (*PRESENT, "other-missing")), (13, 17)),
    Step(FetchRequest, "no such partition", lambda world, _: fetched(world, PRESENT, partition=7), (12, 17)),
)


def _offsets(_: World, version: int) -> ListOffsetsRequest:
    topics = [
        ListOffsetsTopic(
            name=name, partitions=[ListOffsetsPartition(partition_index=number, timestamp=LATEST)]
        )
        for name in ALL
        for number in ((0, 7) if name == "other" else (0,))
    ]
    return ListOffsetsRequest(replica_id=-1, topics=topics)


def _epochs(_: World, version: int) -> OffsetForLeaderEpochRequest:
    topics = [
        OffsetForLeaderTopic(topic=name, partitions=[OffsetForLeaderPartition(partition=0, leader_epoch=0)])
        for name in ALL
    ]
    return OffsetForLeaderEpochRequest(replica_id=-1 if version > 2 else -2, topics=topics)


def _metadata(names: Iterable[str] | None, version: int, *, create: bool = False) -> MetadataRequest:
    topics = None if names is None else [MetadataRequestTopic(name=name) for name in names]
    if version == 0 and topics is None:
        topics = []
    return MetadataRequest(
        topics=topics,
        allow_auto_topic_creation=create or version < 4,
        include_topic_authorized_operations=version >= 8,
        include_cluster_authorized_operations=8 <= version <= 10,
    )


def _metadata_by_id(world: World, _: int) -> MetadataRequest:
    ids = [*(world.topic_id(name) for name in PRESENT), UNKNOWN_ID]
    return MetadataRequest(
        topics=[MetadataRequestTopic(topic_id=one, name=None) for one in ids],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
    )


METADATA: Final = (
    Step(MetadataRequest, "all topics", lambda _, version: _metadata(None, version), (0, 1, 8, 10, 13)),
    Step(MetadataRequest, "by name", lambda _, version: _metadata(ALL, version), (4, 8, 10, 13)),
    Step(MetadataRequest, "by name, old", lambda _, version: _metadata(PRESENT, version), (0, 1)),
    Step(MetadataRequest, "invalid name", lambda _, version: _metadata(["exact", "/"], version), (13,)),
    Step(MetadataRequest, "by id", _metadata_by_id, (12, 13)),
    Step(
        MetadataRequest,
        "creating topics",
        lambda _, version: _metadata(CREATED, version, create=True),
        (4, 13),
        lambda world: world.restore_topics(),
    ),
)


def _partitions(
    names: Iterable[str], limit: int = 1_000, cursor: str | None = None
) -> DescribeTopicPartitionsRequest:
    return DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=None if cursor is None else Cursor(topic_name=cursor, partition_index=0),
    )


PARTITIONS: Final = (
    Step(DescribeTopicPartitionsRequest, "by name", lambda *_: _partitions(ALL)),
    Step(DescribeTopicPartitionsRequest, "all topics", lambda *_: _partitions(())),
    Step(DescribeTopicPartitionsRequest, "two at a time", lambda *_: _partitions(ALL, 2)),
    Step(DescribeTopicPartitionsRequest, "from a topic on", lambda *_: _partitions(ALL, cursor="other")),
    Step(DescribeTopicPartitionsRequest, "all from a topic on", lambda *_: _partitions((), cursor="other")),
)


def _created(
    names: Iterable[str], *, partitions: int = 1, validate_only: bool = False
) -> CreateTopicsRequest:
    config = CreatableTopicConfig(name="retention.ms", value="1000")
    topics = [
        CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=[config])
        for name in names
    ]
    return CreateTopicsRequest(topics=topics, timeout_ms=30_000, validate_only=validate_only)


CREATE: Final = (
    Step(
        CreateTopicsRequest,
        "new",
        lambda *_: _created(CREATED),
        (2, 5, 7),
        lambda world: world.restore_topics(),
    ),
    Step(CreateTopicsRequest, "only validated", lambda *_: _created(CREATED, validate_only=True), (2, 5, 7)),
    Step(CreateTopicsRequest, "present", lambda *_: _created(PRESENT), (2, 7)),
    Step(CreateTopicsRequest, "invalid counts", lambda *_: _created(CREATED, partitions=0), (7,)),
    Step(CreateTopicsRequest, "named twice", lambda *_: _created(["exact", "exact", "other", "other"]), (7,)),
    Step(
        CreateTopicsRequest,
        "invalid names",
        lambda *_: _created(["pre-/", "other/", "__cluster_metadata"]),
        (7,),
    ),
)


def _grown(names: Iterable[str], count: int, *, validate_only: bool = False) -> CreatePartitionsRequest:
    topics = [CreatePartitionsTopic(name=name, count=count, assignments=None) for name in names]
    return CreatePartitionsRequest(topics=topics, timeout_ms=30_000, validate_only=validate_only)


GROW: Final = (
    Step(CreatePartitionsRequest, "only validated", lambda *_: _grown(ALL, 2, validate_only=True)),
    Step(CreatePartitionsRequest, "too few", lambda *_: _grown(ALL, 0)),
    Step(CreatePartitionsRequest, "named twice", lambda *_: _grown(("exact", "exact", "other", "other"), 2)),
)


def _deleted(names: Iterable[str], version: int) -> DeleteTopicsRequest:
    if version < 6:
        return DeleteTopicsRequest(topic_names=list(names), timeout_ms=30_000)
    states = [DeleteTopicState(name=name) for name in names]
    return DeleteTopicsRequest(topics=states, timeout_ms=30_000)


def _deleted_by_id(world: World, _: int) -> DeleteTopicsRequest:
    ids = [*(world.topic_id(name) for name in PRESENT), UNKNOWN_ID]
    return DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=one) for one in ids], timeout_ms=30_000)


def _deleted_twice(world: World, _: int) -> DeleteTopicsRequest:
    states = [DeleteTopicState(name=name) for name in PRESENT]
    states += [DeleteTopicState(topic_id=world.topic_id(name)) for name in PRESENT]
    return DeleteTopicsRequest(topics=states, timeout_ms=30_000)


DELETE: Final = (
    Step(
        DeleteTopicsRequest,
        "by name",
        lambda _, version: _deleted(ALL, version),
        (1, 5, 6),
        lambda world: world.restore_topics(),
    ),
    Step(DeleteTopicsRequest, "by id", _deleted_by_id, (6,), lambda world: world.restore_topics()),
    Step(
        DeleteTopicsRequest,
        "by name and by id",
        _deleted_twice,
        (6,),
        lambda world: world.restore_topics(),
    ),
    Step(
        DeleteTopicsRequest,
        "named twice",
        lambda *_: _deleted(["exact-missing"] * 2 + ["other"] * 2, 6),
        (6,),
    ),
)


def _records(partition: int = 0) -> DeleteRecordsRequest:
    parts = [DeleteRecordsPartition(partition_index=partition, offset=0)]
    topics = [DeleteRecordsTopic(name=name, partitions=parts) for name in ALL]
    return DeleteRecordsRequest(topics=topics, timeout_ms=30_000)


def _producer(transactional_id: str | None) -> InitProducerIdRequest:
    return InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=1_000)


REST: Final = (
    Step(ListOffsetsRequest, "latest", _offsets),
    Step(OffsetForLeaderEpochRequest, "epoch 0", _epochs),
    Step(DeleteRecordsRequest, "none", lambda *_: _records()),
    Step(DeleteRecordsRequest, "no such partition", lambda *_: _records(7)),
    Step(
        DescribeProducersRequest,
        "some",
        lambda *_: DescribeProducersRequest(
            topics=[ProducersOfTopic(name=name, partition_indexes=[0, 7]) for name in ALL]
        ),
    ),
    Step(InitProducerIdRequest, "idempotent", lambda *_: _producer(None), (0, 3, 5)),
    Step(InitProducerIdRequest, "transactional, denied", lambda *_: _producer("other"), (0, 5)),
    Step(InitProducerIdRequest, "transactional, denied again", lambda *_: _producer("pre-denied"), (5,)),
    Step(InitProducerIdRequest, "transactional, exact", lambda *_: _producer("exact"), (0, 5)),
    Step(InitProducerIdRequest, "transactional, prefixed", lambda *_: _producer("pre-1"), (5,)),
    Step(InitProducerIdRequest, "empty transactional id", lambda *_: _producer(""), (5,)),
)

STEPS: Final = (*PRODUCE, *FETCH, *METADATA, *PARTITIONS, *CREATE, *GROW, *DELETE, *REST)
