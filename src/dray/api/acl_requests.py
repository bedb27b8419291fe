"""Parts that the APIs of ACLs have in common."""

from collections.abc import Iterable
from typing import Protocol

from dray.acls import BindingCodes, FilterCodes, Operation, ResourceType
from dray.api.authorization import denied
from dray.api.errors import RequestRejected
from dray.api.exchange import CloseConnection, Context
from dray.api.services import Services
from dray.cluster.acl_admin import AclAdmin
from dray.wire import ErrorCode


class _Filter(Protocol):
    """The fields of a filter in DescribeAcls and DeleteAcls."""

    @property
    def resource_type_filter(self) -> int: ...
    @property
    def resource_name_filter(self) -> str | None: ...
    @property
    def pattern_type_filter(self) -> int: ...
    @property
    def principal_filter(self) -> str | None: ...
    @property
    def host_filter(self) -> str | None: ...
    @property
    def operation(self) -> int: ...
    @property
    def permission_type(self) -> int: ...


def filter_codes(given: _Filter) -> FilterCodes:
    return FilterCodes(
        given.resource_type_filter,
        given.resource_name_filter,
        given.pattern_type_filter,
        given.principal_filter,
        given.host_filter,
        given.operation,
        given.permission_type,
    )


def admin_of(
    given: Iterable[BindingCodes | FilterCodes], context: Context, services: Services
) -> AclAdmin | RequestRejected:
    """Return the administration of ACLs for a request that changes them, or why it is refused.

    Raises `CloseConnection` if one of them cannot be decoded.
    """
    for codes in given:
        require_decodable(codes)
    if not context.access.allows_on_cluster(Operation.ALTER):
        return denied(ResourceType.CLUSTER)
    return no_authorizer() if services.acl_admin is None else services.acl_admin


def no_authorizer() -> RequestRejected:
    return RequestRejected(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")


def require_decodable(codes: BindingCodes | FilterCodes) -> None:
    """Close the connection if an enum is 0 (UNKNOWN); Kafka treats such a request as one that is cut off."""
    if 0 in (codes.resource_type, codes.pattern_type, codes.operation, codes.permission):
        raise CloseConnection(f"an enum of an ACL is 0, which has no meaning: {codes}")
