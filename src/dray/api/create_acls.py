"""CreateAcls (key 30), versions 1 to 3.

Version notes:
- 1: pattern types other than LITERAL (KIP-290). 0 was removed in Kafka 4.0.
- 2: flexible.
- 3: the resource type USER (KIP-373).

Differences from Kafka:
- A creation with ANY or MATCH is rejected with INVALID_REQUEST, the others are carried out; in Kafka the
  whole request fails with UNKNOWN_SERVER_ERROR.
- A request that exceeds what the metadata store accepts in one commit is not atomic.
"""

from collections.abc import Iterator
from typing import Final

from dray.acls import AclBinding, BindingCodes, InvalidAcl, binding_of
from dray.api.acl_requests import admin_of
from dray.api.errors import EXPECTED, RequestRejected, code_of, message_of
from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.wire.apis.create_acls import (
    CREATE_ACLS,
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)


async def handle(request: CreateAclsRequest, context: Context, services: Services) -> CreateAclsResponse:
    given = [_codes(creation) for creation in request.creations]
    admin = admin_of(given, context, services)
    if isinstance(admin, RequestRejected):
        return CreateAclsResponse(results=[_result(admin) for _ in given])
    checked = [_checked(codes) for codes in given]
    failure: Exception | None = None
    try:
        await admin.create(one for one in checked if isinstance(one, AclBinding))
    except EXPECTED as error:
        failure = error
    return CreateAclsResponse(
        results=[_result(failure if isinstance(one, AclBinding) else one) for one in checked]
    )


def _codes(creation: AclCreation) -> BindingCodes:
    return BindingCodes(
        creation.resource_type,
        creation.resource_name,
        creation.resource_pattern_type,
        creation.principal,
        creation.host,
        creation.operation,
        creation.permission_type,
    )


def _checked(codes: BindingCodes) -> AclBinding | InvalidAcl:
    try:
        return binding_of(codes)
    except InvalidAcl as error:
        return error


def _result(failure: Exception | None) -> AclCreationResult:
    if failure is None:
        return AclCreationResult()
    return AclCreationResult(error_code=code_of(failure), error_message=message_of(failure))


def _changes(request: CreateAclsRequest) -> Iterator[str]:
    return (str(_codes(one)) for one in request.creations)


API: Final = Served(CREATE_ACLS, versions=(1, 3), handle=handle, changes=_changes)
