"""FindCoordinator (key 10), versions 0 to 6.

Version notes:
- 1: coordinators of transactions (KIP-98).
- 3: flexible.
- 4: several keys in one request (KIP-699).
- 5: TRANSACTION_ABORTABLE (KIP-890).
- 6: share groups (KIP-932).

Differences from Kafka:
- Any broker coordinates any group. A broker of the client's zone is returned, the same one to all clients of
  the zone, so that its cached state of the group is used.
- Transactions are not supported: from version 3 on UNSUPPORTED_VERSION, before that
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED.
- Share groups are not supported: INVALID_REQUEST.

Every transactional producer looks for its coordinator first, so this is where its user learns that
transactions are not supported. UNSUPPORTED_VERSION is what Redpanda answers without transactions; Java's
client shows our message with it. librdkafka would retry that, and everything else but authorization errors,
until the application's timeout. It asks in version 2, so old versions get an authorization error, which it
reports as fatal, with our message.
"""

from typing import Final

from dray.acls import Operation, ResourceType
from dray.api.authorization import denied
from dray.api.errors import RequestRejected
from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.cluster.brokers import BrokerInfo
from dray.cluster.zones import Origin, address_for
from dray.wire import ErrorCode
from dray.wire.apis.find_coordinator import (
    FIND_COORDINATOR,
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

_GROUP, _TRANSACTION = 0, 1
_BATCHED_FROM_VERSION = 4
_NO_NODE = -1
_UNSUPPORTED_IS_FATAL_FROM_VERSION = 3
_NO_TRANSACTIONS = "Dray does not support transactions yet."
_MESSAGES: Final = {
    ErrorCode.NONE: "NONE",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: denied(ResourceType.GROUP).message,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: denied(ResourceType.TRANSACTIONAL_ID).message,
}
"""The error messages that only the versions without batches have."""


async def handle(
    request: FindCoordinatorRequest, context: Context, services: Services
) -> FindCoordinatorResponse:
    if context.version >= _BATCHED_FROM_VERSION:
        return FindCoordinatorResponse(
            coordinators=[_find(key, request.key_type, context, services) for key in request.coordinator_keys]
        )
    found = _find(request.key, request.key_type, context, services)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message or _MESSAGES[ErrorCode(found.error_code)],
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _find(key: str, key_type: int, context: Context, services: Services) -> Coordinator:
    if key_type == _GROUP and not context.access.allows_on_group(Operation.DESCRIBE, key):
        return _refused(key, RequestRejected(ErrorCode.GROUP_AUTHORIZATION_FAILED))
    if key_type == _GROUP:
        return _named(key, services.routing.coordinator(key, context.origin), context.origin)
    kind = ResourceType.TRANSACTIONAL_ID
    if key_type == _TRANSACTION and not context.access.allows(Operation.DESCRIBE, kind, key):
        return _refused(key, RequestRejected(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
    if key_type == _TRANSACTION:
        return _refused(key, RequestRejected(_no_transactions(context), _NO_TRANSACTIONS))
    return _refused(
        key, RequestRejected(ErrorCode.INVALID_REQUEST, f"There are no coordinators of type {key_type}.")
    )


def _no_transactions(context: Context) -> ErrorCode:
    if context.version >= _UNSUPPORTED_IS_FATAL_FROM_VERSION:
        return ErrorCode.UNSUPPORTED_VERSION
    return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def _named(key: str, broker: BrokerInfo, origin: Origin) -> Coordinator:
    address = address_for(broker, origin)
    return Coordinator(key=key, node_id=broker.broker_id, host=address.host, port=address.port)


def _refused(key: str, error: RequestRejected) -> Coordinator:
    return Coordinator(
        key=key, node_id=_NO_NODE, port=_NO_NODE, error_code=error.code, error_message=error.message or ""
    )


API: Final = Served(FIND_COORDINATOR, versions=(0, 6), handle=handle)
