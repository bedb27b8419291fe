"""DescribeClientQuotas (key 48), versions 0 to 1.

Version notes:
- 0: quotas of users, client ids and IP addresses (KIP-546).
- 1: flexible.

Differences from Kafka:
- Entities are sorted; Kafka returns them in any order.
"""

from typing import Final

from dray.acls import Operation
from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.cluster.quotas import StoredQuotas
from dray.quotas import FilterComponent, InvalidFilter, UnknownEntityType, parse_filter
from dray.wire import ErrorCode
from dray.wire.apis.describe_client_quotas import (
    DESCRIBE_CLIENT_QUOTAS,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)


async def handle(
    request: DescribeClientQuotasRequest, context: Context, services: Services
) -> DescribeClientQuotasResponse:
    if not context.access.allows_on_cluster(Operation.DESCRIBE_CONFIGS):
        return _refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None)
    components = [FilterComponent(one.entity_type, one.match_type, one.match) for one in request.components]
    try:
        wanted = parse_filter(components, strict=request.strict)
    except InvalidFilter as error:
        return _refused(ErrorCode.INVALID_REQUEST, error)
    except UnknownEntityType as error:
        return _refused(ErrorCode.UNSUPPORTED_VERSION, error)
    found = sorted(services.quotas.matching(wanted), key=_order)
    return DescribeClientQuotasResponse(entries=[_entry(stored) for stored in found])


def _order(stored: StoredQuotas) -> list[tuple[str, bool, str]]:
    """Sort the defaults of a type before its names."""
    return [(kind, name is not None, name or "") for kind, name in stored.parts]


def _entry(stored: StoredQuotas) -> EntryData:
    return EntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in stored.parts],
        values=[ValueData(key=key, value=limit) for key, limit in sorted(stored.limits.items())],
    )


def _refused(code: ErrorCode, error: Exception | None) -> DescribeClientQuotasResponse:
    message = None if error is None else str(error)
    return DescribeClientQuotasResponse(error_code=code, error_message=message, entries=None)


API: Final = Served(DESCRIBE_CLIENT_QUOTAS, versions=(0, 1), handle=handle)
