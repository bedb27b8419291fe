"""ElectLeaders (key 43). Versions 0 to 2.

Deviations: streams have no leaders, and so every partition has the one it should have: no election is ever
needed.
"""

from dray.api.errors import Refused
from dray.api.exchange import Context
from dray.api.services import Services, stream_at
from dray.wire import ErrorCode
from dray.wire.apis.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

_PREFERRED, _UNCLEAN = 0, 1


async def handle(request: ElectLeadersRequest, _: Context, services: Services) -> ElectLeadersResponse:
    if request.election_type not in (_PREFERRED, _UNCLEAN):
        return _wrong_type(request)
    if request.topic_partitions is None:
        # Of all partitions, Kafka tells only of those that needed an election.
        return ElectLeadersResponse(
            replica_election_results=[
                ReplicaElectionResult(topic=topic.name) for topic in services.topics.all()
            ]
        )
    return ElectLeadersResponse(
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    _result(number, _why_not(topic.topic, number, services)) for number in topic.partitions
                ],
            )
            for topic in request.topic_partitions
        ]
    )


def _why_not(name: str, number: int, services: Services) -> Refused:
    topic = services.topics.find(name)
    if topic is None:
        return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    if stream_at(topic, number) is None:
        return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{number}")
    return Refused(ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")


def _wrong_type(request: ElectLeadersRequest) -> ElectLeadersResponse:
    wrong = Refused(ErrorCode.INVALID_REQUEST, f"Unknown election type {request.election_type}")
    return ElectLeadersResponse(
        error_code=wrong.code,
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic, partition_result=[_result(number, wrong) for number in topic.partitions]
            )
            for topic in request.topic_partitions or ()
        ],
    )


def _result(number: int, error: Refused) -> PartitionResult:
    return PartitionResult(partition_id=number, error_code=error.code, error_message=error.message)
