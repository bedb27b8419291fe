"""DescribeCluster (key 60). Versions 0 to 2.

Deviations: a client that names its zone is told of the brokers of that zone only, as in Metadata. There are
no controllers, so the broker called one is the first of those; any takes administrative requests. No broker
is ever fenced: one that is not alive is not there.
"""

from dray.api.authorized_operations import NOT_ASKED, ON_CLUSTER
from dray.api.exchange import Context
from dray.api.services import Services
from dray.wire import ErrorCode
from dray.wire.apis.describe_cluster import (
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
    brokers = services.brokers_for(context)
    asked = request.include_cluster_authorized_operations
    return DescribeClusterResponse(
        cluster_id=services.cluster_id,
        controller_id=brokers[0].broker_id,
        brokers=[
            DescribeClusterBroker(
                broker_id=broker.broker_id, host=broker.host, port=broker.port, rack=broker.zone
            )
            for broker in brokers
        ],
        cluster_authorized_operations=ON_CLUSTER if asked else NOT_ASKED,
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
