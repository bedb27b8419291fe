"""DescribeAcls (key 29), versions 1 to 3.

Version notes:
- 1: pattern types other than LITERAL (KIP-290). 0 was removed in Kafka 4.0.
- 2: flexible.
- 3: the resource type USER (KIP-373).

Differences from Kafka:
- Resources and their ACLs are sorted.
"""

from itertools import groupby
from typing import Final

from dray.acls import AclBinding, InvalidAcl, Operation, ResourceType, filter_of
from dray.api.acl_requests import filter_codes, require_decodable
from dray.api.authorization import denied
from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.wire import ErrorCode
from dray.wire.apis.describe_acls import (
    DESCRIBE_ACLS,
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)


async def handle(request: DescribeAclsRequest, context: Context, services: Services) -> DescribeAclsResponse:
    codes = filter_codes(request)
    require_decodable(codes)
    if not context.access.allows_on_cluster(Operation.DESCRIBE):
        refused = denied(ResourceType.CLUSTER)
        return DescribeAclsResponse(error_code=refused.code, error_message=refused.message)
    if services.acls is None:
        return DescribeAclsResponse(
            error_code=ErrorCode.SECURITY_DISABLED,
            error_message="No Authorizer is configured on the broker",
        )
    try:
        found = services.acls.bindings(filter_of(codes))
    except InvalidAcl:
        found = []  # as in Kafka, an unknown type matches nothing
    return DescribeAclsResponse(resources=_resources(found))


def _resources(bindings: list[AclBinding]) -> list[DescribeAclsResource]:
    return [
        DescribeAclsResource(
            resource_type=pattern.resource_type,
            resource_name=pattern.name,
            pattern_type=pattern.pattern_type,
            acls=[
                AclDescription(
                    principal=binding.entry.principal,
                    host=binding.entry.host,
                    operation=binding.entry.operation,
                    permission_type=binding.entry.permission,
                )
                for binding in group
            ],
        )
        for pattern, group in groupby(bindings, key=lambda binding: binding.pattern)
    ]


API: Final = Served(DESCRIBE_ACLS, versions=(1, 3), handle=handle)
