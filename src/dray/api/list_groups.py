"""ListGroups (key 16), versions 0 to 5.

Version notes:
- 3: flexible.
- 4: states, and a filter by state (KIP-518).
- 5: group types, and a filter by type (KIP-848).

Differences from Kafka:
- Every broker lists all groups of the cluster, not only those it coordinates. Clients ask all brokers and
  count each group once.
"""

from typing import Final

from dray.acls import Operation
from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.groups import machine
from dray.groups.stored import Group
from dray.wire.apis.list_groups import LIST_GROUPS, ListedGroup, ListGroupsRequest, ListGroupsResponse


async def handle(request: ListGroupsRequest, context: Context, services: Services) -> ListGroupsResponse:
    sees_all = context.access.allows_on_cluster(Operation.DESCRIBE, audited=False)
    states = {state.lower() for state in request.states_filter}
    kinds = {kind.lower() for kind in request.types_filter}
    listed = [
        _listed_group(group_id, group)
        for group_id, group in services.groups.all()
        if sees_all or context.access.allows_on_group(Operation.DESCRIBE, group_id, audited=False)
    ]
    return ListGroupsResponse(
        groups=[
            one
            for one in listed
            if (not states or one.group_state.lower() in states) and (not kinds or one.group_type in kinds)
        ]
    )


def _listed_group(group_id: str, group: Group) -> ListedGroup:
    return ListedGroup(
        group_id=group_id,
        protocol_type=machine.protocol_type(group),
        group_state=machine.state_name(group),
        group_type=machine.kind(group),
    )


API: Final = Served(LIST_GROUPS, versions=(0, 5), handle=handle)
