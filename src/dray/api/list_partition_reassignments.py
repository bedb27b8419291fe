"""ListPartitionReassignments (key 46). Version 0.

Deviations: partitions are nowhere in particular, so none is ever on its way from one broker to another.
"""

from dray.api.exchange import Context
from dray.api.services import Services
from dray.wire.apis.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)


async def handle(
    _: ListPartitionReassignmentsRequest, _context: Context, _services: Services
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_message=None)
