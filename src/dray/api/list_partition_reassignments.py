"""ListPartitionReassignments (key 46), version 0 (KIP-455).

Differences from Kafka:
- The list is always empty: a partition is not bound to a broker.
"""

from typing import Final

from dray.acls import Operation, ResourceType
from dray.api.authorization import denied
from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.wire.apis.list_partition_reassignments import (
    LIST_PARTITION_REASSIGNMENTS,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)


async def handle(
    request: ListPartitionReassignmentsRequest, context: Context, _: Services
) -> ListPartitionReassignmentsResponse:
    if not context.access.allows_on_cluster(Operation.DESCRIBE):
        refused = denied(ResourceType.CLUSTER)
        return ListPartitionReassignmentsResponse(
            error_code=refused.code,
            error_message=refused.message,
            topics=[_unknown(topic) for topic in request.topics or ()],
        )
    return ListPartitionReassignmentsResponse(error_message=None)


def _unknown(topic: ListPartitionReassignmentsTopics) -> OngoingTopicReassignment:
    """Return the requested partitions of a topic, with nothing about them."""
    return OngoingTopicReassignment(
        name=topic.name,
        partitions=[
            OngoingPartitionReassignment(partition_index=number) for number in topic.partition_indexes
        ],
    )


API: Final = Served(LIST_PARTITION_REASSIGNMENTS, versions=(0, 0), handle=handle)
