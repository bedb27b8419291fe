"""DeleteGroups (key 42), versions 0 to 2.

Version notes:
- 2: flexible.
"""

from collections.abc import Iterator
from typing import Final

from dray.acls import Operation
from dray.api.authorization import Access
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


async def handle(request: DeleteGroupsRequest, context: Context, services: Services) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id=name, error_code=await _delete(name, context.access, services))
            for name in dict.fromkeys(request.groups_names)
        ]
    )


async def _delete(group_id: str, access: Access, services: Services) -> ErrorCode:
    try:
        access.require_on_group(Operation.DELETE, group_id)
        return code_for(await services.groups.delete(group_id))
    except EXPECTED as error:
        return code_of(error)


def _changes(request: DeleteGroupsRequest) -> Iterator[str]:
    return (f"GROUP:{name}" for name in request.groups_names)


API: Final = Served(DELETE_GROUPS, versions=(0, 2), handle=handle, changes=_changes)
