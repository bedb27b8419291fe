"""ElectLeaders (key 43), versions 0 to 2.

Version notes:
- 1: unclean election (KIP-460).
- 2: flexible.

Differences from Kafka:
- Partitions have no leaders, so every election gets ELECTION_NOT_NEEDED.
"""

from typing import Final

from dray.acls import Operation, ResourceType
from dray.api.authorization import denied
from dray.api.errors import RequestRejected
from dray.api.exchange import Context
from dray.api.partitions import stream_at
from dray.api.served import Served
from dray.api.services import Services
from dray.wire import ErrorCode
from dray.wire.apis.elect_leaders import (
    ELECT_LEADERS,
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

_PREFERRED, _UNCLEAN = 0, 1


async def handle(request: ElectLeadersRequest, context: Context, services: Services) -> ElectLeadersResponse:
    if not context.access.allows_on_cluster(Operation.ALTER):
        return _refused(request, denied(ResourceType.CLUSTER))
    if request.election_type not in (_PREFERRED, _UNCLEAN):
        why = f"Unknown election type {request.election_type}"
        return _refused(request, RequestRejected(ErrorCode.INVALID_REQUEST, why))
    if request.topic_partitions is None:
        # If all partitions are requested, Kafka returns only those that needed an election.
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


def _why_not(name: str, number: int, services: Services) -> RequestRejected:
    topic = services.topics.find(name)
    if topic is None:
        return RequestRejected(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    if stream_at(topic, number) is None:
        return RequestRejected(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{number}")
    return RequestRejected(ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")


def _refused(request: ElectLeadersRequest, wrong: RequestRejected) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        error_code=wrong.code,
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic, partition_result=[_result(number, wrong) for number in topic.partitions]
            )
            for topic in request.topic_partitions or ()
        ],
    )


def _result(number: int, error: RequestRejected) -> PartitionResult:
    return PartitionResult(partition_id=number, error_code=error.code, error_message=error.message)


API: Final = Served(ELECT_LEADERS, versions=(0, 2), handle=handle)
