"""DescribeCluster (key 60), versions 0 to 2 (KIP-700).

Version notes:
- 1: endpoint type (KIP-919).
- 2: fenced brokers (KIP-1073).

Differences from Kafka:
- A client that names its zone sees only the brokers of that zone, as in Metadata.
- Brokers without the listener of the client are left out, as in Metadata.
- There are no controllers; the first of those brokers is reported as one. Any broker takes admin requests.
- No broker is ever fenced: one that is not alive is not listed.
"""

from typing import Final

from dray.api.authorization import NOT_REQUESTED
from dray.api.exchange import Context
from dray.api.served import Served
from dray.api.services import Services
from dray.cluster.brokers import BrokerInfo
from dray.cluster.zones import Origin, address_for
from dray.wire import ErrorCode
from dray.wire.apis.describe_cluster import (
    DESCRIBE_CLUSTER,
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

_BROKERS, _CONTROLLERS = 1, 2


async def handle(
    request: DescribeClusterRequest, context: Context, services: Services
) -> DescribeClusterResponse:
    if request.endpoint_type != _BROKERS:
        return _wrong_endpoint(request.endpoint_type)
    brokers = services.routing.visible(context.origin)
    requested = request.include_cluster_authorized_operations
    return DescribeClusterResponse(
        cluster_id=services.cluster_id,
        controller_id=brokers[0].broker_id,
        brokers=[_described(broker, context.origin) for broker in brokers],
        cluster_authorized_operations=context.access.operations_on_cluster() if requested else NOT_REQUESTED,
    )


def _described(broker: BrokerInfo, origin: Origin) -> DescribeClusterBroker:
    address = address_for(broker, origin)
    return DescribeClusterBroker(
        broker_id=broker.broker_id, host=address.host, port=address.port, rack=broker.zone
    )


def _wrong_endpoint(kind: int) -> DescribeClusterResponse:
    if kind == _CONTROLLERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            error_message="The request was sent to an endpoint of type BROKER, "
            "but we wanted an endpoint of type CONTROLLER",
        )
    return DescribeClusterResponse(
        error_code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, error_message=f"Unsupported endpoint type {kind}"
    )


API: Final = Served(DESCRIBE_CLUSTER, versions=(0, 2), handle=handle)
