"""DeleteGroups (key 42). Versions 0 to 2."""

from dray.api.errors import EXPECTED, code_of
from dray.api.exchange import Context
from dray.api.group_asks import code_for
from dray.api.services import Services
from dray.wire import ErrorCode
from dray.wire.apis.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse


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
