"""DeleteAcls (key 31), versions 1 to 3.

Version notes:
- 1: pattern types other than LITERAL (KIP-290). 0 was removed in Kafka 4.0.
- 2: flexible.
- 3: the resource type USER (KIP-373).

Differences from Kafka:
- The deleted ACLs are sorted.
- A request that exceeds what the metadata store accepts in one commit is not atomic, where Kafka rejects one
  that deletes more than 10,000 ACLs.
"""

from collections.abc import Iterator
from typing import Final

from dray.acls import AclBinding, AclFilter, FilterCodes, InvalidAcl, filter_of
from dray.api.acl_requests import admin_of, filter_codes
from dray.api.errors import EXPECTED, RequestRejected, code_of, message_of
from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.wire.apis.delete_acls import (
    DELETE_ACLS,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)


async def handle(request: DeleteAclsRequest, context: Context, services: Services) -> DeleteAclsResponse:
    given = [filter_codes(one) for one in request.filters]
    admin = admin_of(given, context, services)
    if isinstance(admin, RequestRejected):
        return DeleteAclsResponse(filter_results=[_failed(admin) for _ in given])
    checked = [_checked(codes) for codes in given]
    filters = [one for one in checked if isinstance(one, AclFilter)]
    try:
        deleted = dict(zip(filters, await admin.delete(filters), strict=True))
    except EXPECTED as error:
        return DeleteAclsResponse(
            filter_results=[_failed(one if isinstance(one, InvalidAcl) else error) for one in checked]
        )
    return DeleteAclsResponse(
        filter_results=[
            _failed(one) if isinstance(one, InvalidAcl) else _deleted(deleted[one]) for one in checked
        ]
    )


def _checked(codes: FilterCodes) -> AclFilter | InvalidAcl:
    try:
        return filter_of(codes)
    except InvalidAcl as error:
        return error


def _failed(failure: Exception) -> DeleteAclsFilterResult:
    return DeleteAclsFilterResult(error_code=code_of(failure), error_message=message_of(failure))


def _deleted(bindings: list[AclBinding]) -> DeleteAclsFilterResult:
    return DeleteAclsFilterResult(
        error_message=None,
        matching_acls=[
            DeleteAclsMatchingAcl(
                error_message=None,
                resource_type=binding.pattern.resource_type,
                resource_name=binding.pattern.name,
                pattern_type=binding.pattern.pattern_type,
                principal=binding.entry.principal,
                host=binding.entry.host,
                operation=binding.entry.operation,
                permission_type=binding.entry.permission,
            )
            for binding in bindings
        ],
    )


def _changes(request: DeleteAclsRequest) -> Iterator[str]:
    return (str(filter_codes(one)) for one in request.filters)


API: Final = Served(DELETE_ACLS, versions=(1, 3), handle=handle, changes=_changes)
