"""DeleteGroups (key 42), versions 0 to 2.

Version notes:
- 2: flexible.
"""

from typing import Final

from dray.api.errors import EXPECTED, code_of
from dray.api.exchange import Context
from dray.api.group_requests import code_for
from dray.api.served import Served
from dray.api.services import Services
from dray.wire import ErrorCode
from dray.wire.apis.delete_groups import (
    DELETE_GROUPS,
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)


async def handle(request: DeleteGroupsRequest, _: Context, services: Services) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id=name, error_code=await _delete(name, services))
            for name in dict.fromkeys(request.groups_names)
        ]
    )


async def _delete(group_id: str, services: Services) -> ErrorCode:
    try:
        return code_for(await services.groups.delete(group_id))
    except EXPECTED as error:
        return code_of(error)


API: Final = Served(DELETE_GROUPS, versions=(0, 2), handle=handle)
