"""Creating, growing, deleting and describing topics."""

from dray.wire.apis.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from dray.wire.apis.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from dray.wire.apis.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from dray.wire.apis.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from dray.wire.apis.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from dray.wire.apis.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions
from dray.wire.apis.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)
from tests.oracle.transcripts import ResponseRecorder


def _creation(name: str, partitions: int = 1, factor: int = 1, **configs: str | None) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        configs=[
            CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()
        ],
    )


def creating(recorder: ResponseRecorder) -> None:
    for version in (2, 4, 5, 7):
        name = recorder.named(f"made-{version}")
        first = _creation(name, 2, retention_ms="1000")
        recorder.send(CreateTopicsRequest(topics=[first]), CreateTopicsResponse, version, "valid")
        recorder.send(CreateTopicsRequest(topics=[first]), CreateTopicsResponse, version, "once more")
        other = _creation(recorder.named(f"not-made-{version}"), 2, retention_ms="1000")
        dry = CreateTopicsRequest(topics=[other], validate_only=True)
        recorder.send(dry, CreateTopicsResponse, version, "only validated")


def creating_wrongly(recorder: ResponseRecorder) -> None:
    name = recorder.named("wrong")
    placed = CreatableReplicaAssignment(partition_index=0, broker_ids=[1])
    cases = {
        "no partitions": _creation(name, 0),
        "-2 partitions": _creation(name, -2),
        "factor 0": _creation(name, 1, 0),
        "factor -2": _creation(name, 1, -2),
        "unknown config": _creation(name, nonsense="1"),
        "bad config": _creation(name, retention_ms="x"),
        "null config": _creation(name, retention_ms=None),
        "bad codec": _creation(name, compression_type="rar"),
        "empty name": _creation(""),
        "bad name": _creation("a/b"),
        "dot": _creation("."),
        "long name": _creation("x" * 250),
        "the cluster's own": _creation("__cluster_metadata"),
        "assignment and counts": CreatableTopic(
            name=name, num_partitions=1, replication_factor=1, assignments=[placed]
        ),
        "assignment with a gap": CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreatableReplicaAssignment(partition_index=1, broker_ids=[1])],
        ),
        "assignment to an unknown broker": CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=[])],
        ),
    }
    for label, topic in cases.items():
        recorder.send(CreateTopicsRequest(topics=[topic]), CreateTopicsResponse, 7, label)
    twice = CreateTopicsRequest(topics=[_creation(name), _creation(name)])
    recorder.send(twice, CreateTopicsResponse, 7, "twice in one request")


def colliding(recorder: ResponseRecorder) -> None:
    recorder.topic("with.dot")
    request = CreateTopicsRequest(topics=[_creation(recorder.named("with_dot"))])
    recorder.send(request, CreateTopicsResponse, 7, "differs in a dot only")


def deleting(recorder: ResponseRecorder) -> None:
    for version in (1, 4, 5):
        topic = recorder.topic(f"gone-{version}")
        stranger = recorder.named("delete-absent")
        request = DeleteTopicsRequest(topic_names=[topic.name, stranger], timeout_ms=5000)
        recorder.send(request, DeleteTopicsResponse, version, "one known, one not")
    topic, other = recorder.topic("gone-6"), recorder.topic("gone-7")
    for label, states in {
        "unknown id": [DeleteTopicState(topic_id=bytes(range(16)))],
        "neither name nor id": [DeleteTopicState()],
        "name and id": [DeleteTopicState(name=topic.name, topic_id=topic.topic_id)],
        "twice": [DeleteTopicState(name=topic.name), DeleteTopicState(name=topic.name)],
        "by id": [DeleteTopicState(topic_id=topic.topic_id)],
        "by name": [DeleteTopicState(name=other.name)],
    }.items():
        request = DeleteTopicsRequest(topics=states, timeout_ms=5000)
        recorder.send(request, DeleteTopicsResponse, 6, label)


def growing(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("growing", 2)
    for version in (0, 2, 3):
        for label, count in {"fewer": 1, "the same": 2, "none": 0, "negative": -1}.items():
            asked = CreatePartitionsTopic(name=topic.name, count=count, assignments=None)
            recorder.send(
                CreatePartitionsRequest(topics=[asked], timeout_ms=5000),
                CreatePartitionsResponse,
                version,
                label,
            )
        stranger = CreatePartitionsTopic(name=recorder.named("grow-absent"), count=3, assignments=None)
        recorder.send(
            CreatePartitionsRequest(topics=[stranger], timeout_ms=5000),
            CreatePartitionsResponse,
            version,
            "unknown topic",
        )
        asked = CreatePartitionsTopic(name=topic.name, count=4, assignments=None)
        dry = CreatePartitionsRequest(topics=[asked], timeout_ms=5000, validate_only=True)
        recorder.send(dry, CreatePartitionsResponse, version, "only validated")
        twice = CreatePartitionsRequest(topics=[asked, asked], timeout_ms=5000)
        recorder.send(twice, CreatePartitionsResponse, version, "twice")
        placed = CreatePartitionsTopic(
            name=topic.name, count=4, assignments=[CreatePartitionsAssignment(broker_ids=[1])]
        )
        recorder.send(
            CreatePartitionsRequest(topics=[placed], timeout_ms=5000),
            CreatePartitionsResponse,
            version,
            "too few assignments",
        )
    more = CreatePartitionsTopic(name=topic.name, count=3, assignments=None)
    recorder.send(
        CreatePartitionsRequest(topics=[more], timeout_ms=5000), CreatePartitionsResponse, 3, "one more"
    )


def describing(recorder: ResponseRecorder) -> None:
    first, second = recorder.topic("described-a", 3), recorder.topic("described-b", 2)
    names = [TopicRequest(name=topic.name) for topic in (second, first)]
    strange = [TopicRequest(name=recorder.named("described-absent")), TopicRequest(name="a/b")]
    for label, request in {
        "both": DescribeTopicPartitionsRequest(topics=names),
        "strangers": DescribeTopicPartitionsRequest(topics=strange),
        "two partitions": DescribeTopicPartitionsRequest(topics=names, response_partition_limit=2),
        "from a cursor": DescribeTopicPartitionsRequest(
            topics=names,
            response_partition_limit=2,
            cursor=Cursor(topic_name=first.name, partition_index=2),
        ),
        "a negative cursor": DescribeTopicPartitionsRequest(
            topics=names, cursor=Cursor(topic_name=first.name, partition_index=-1)
        ),
        "limit 0": DescribeTopicPartitionsRequest(topics=names, response_partition_limit=0),
    }.items():
        recorder.send(request, DescribeTopicPartitionsResponse, 0, label)


def log_dirs(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("dirs", 2)
    for version in range(1, 6):
        for label, asked in {
            "both": DescribableLogDirTopic(topic=topic.name, partitions=[0, 1]),
            "unknown partition": DescribableLogDirTopic(topic=topic.name, partitions=[9]),
            "unknown topic": DescribableLogDirTopic(topic=recorder.named("dirs-absent"), partitions=[0]),
        }.items():
            request = DescribeLogDirsRequest(topics=[asked])
            recorder.send(request, DescribeLogDirsResponse, version, label)


def leaders(recorder: ResponseRecorder) -> None:
    topic = recorder.topic("leaders")
    for version in range(3):
        for kind in (0, 1, 7) if version else (0,):
            for partition in (0, 9):
                named = TopicPartitions(topic=topic.name, partitions=[partition])
                request = ElectLeadersRequest(election_type=kind, topic_partitions=[named])
                label = f"type {kind}, partition {partition}"
                recorder.send(request, ElectLeadersResponse, version, label)
    asked = ListPartitionReassignmentsTopics(name=topic.name, partition_indexes=[0, 9])
    for topics in (None, [asked]):
        request2 = ListPartitionReassignmentsRequest(topics=topics)
        recorder.send(request2, ListPartitionReassignmentsResponse, 0, f"{topics is None}")


SCENARIOS = (
    creating,
    creating_wrongly,
    colliding,
    deleting,
    growing,
    describing,
    log_dirs,
    leaders,
)
