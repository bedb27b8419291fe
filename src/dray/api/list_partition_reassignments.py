"""ListPartitionReassignments (key 46), version 0 (KIP-455).

Differences from Kafka:
- The list is always empty: a partition is not bound to a broker.
"""

from typing import Final

from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.wire.apis.list_partition_reassignments import (
    LIST_PARTITION_REASSIGNMENTS,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)


async def handle(
    _: ListPartitionReassignmentsRequest, _context: Context, _services: Services
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_message=None)


API: Final = Served(LIST_PARTITION_REASSIGNMENTS, versions=(0, 0), handle=handle)
