"""ListGroups (key 16). Versions 0 to 5.

Deviations: every broker lists all groups of the cluster; Kafka's list those they coordinate. Clients ask all
brokers and count a group once.
"""

from dray.api.exchange import Context
from dray.api.services import Services
from dray.groups import machine
from dray.groups.group import Group
from dray.wire.apis.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse


async def handle(request: ListGroupsRequest, _: Context, services: Services) -> ListGroupsResponse:
    states = {state.lower() for state in request.states_filter}
    kinds = {kind.lower() for kind in request.types_filter}
    listed = [_told(group_id, group) for group_id, group in services.groups.all()]
    return ListGroupsResponse(
        groups=[
            one
            for one in listed
            if (not states or one.group_state.lower() in states) and (not kinds or one.group_type in kinds)
        ]
    )


def _told(group_id: str, group: Group) -> ListedGroup:
    return ListedGroup(
        group_id=group_id,
        protocol_type=machine.protocol_type(group),
        group_state=machine.state_name(group),
        group_type=machine.kind(group),
    )
