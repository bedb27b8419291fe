"""FindCoordinator (key 10). Versions 0 to 6.

Deviations: any broker serves any group. The one that is named is one of the client's zone, and all clients of
the zone get the same for the same group, so that what it remembers of the group is of use.

Transactions are not served. Their coordinator is refused with TRANSACTIONAL_ID_AUTHORIZATION_FAILED, like
InitProducerId: it is the one code that Java's clients, librdkafka, franz-go and sarama all take for final.
COORDINATOR_NOT_AVAILABLE would be retried by all of them for ever, and INVALID_REQUEST by librdkafka. Share
groups are not served either.
"""

from dray.api.errors import Refused
from dray.api.exchange import Context
from dray.api.services import Services
from dray.cluster.brokers import BrokerInfo
from dray.cluster.zones import preferred
from dray.wire import ErrorCode
from dray.wire.apis.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

_GROUP, _TRANSACTION = 0, 1
_BATCHED_FROM_VERSION = 4
_NOBODY = -1
_NO_ERROR = "NONE"
"""What Kafka says in place of an error, in the versions without batches."""


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
        error_message=found.error_message or _NO_ERROR,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _find(key: str, key_type: int, context: Context, services: Services) -> Coordinator:
    if key_type == _GROUP:
        return _named(key, preferred(services.brokers_for(context), key.encode()))
    if key_type == _TRANSACTION:
        return _refused(
            key,
            Refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "Transactions are not served by Dray."),
        )
    return _refused(key, Refused(ErrorCode.INVALID_REQUEST, f"There are no coordinators of type {key_type}."))


def _named(key: str, broker: BrokerInfo) -> Coordinator:
    return Coordinator(key=key, node_id=broker.broker_id, host=broker.host, port=broker.port)


def _refused(key: str, error: Refused) -> Coordinator:
    return Coordinator(
        key=key, node_id=_NOBODY, port=_NOBODY, error_code=error.code, error_message=error.message
    )
