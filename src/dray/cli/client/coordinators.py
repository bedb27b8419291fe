"""Which broker to ask about a group."""

from collections.abc import Sequence

from dray.cli.client.cluster import Cluster
from dray.cli.client.connection import Connection
from dray.cli.client.errors import raise_for
from dray.wire.apis.find_coordinator import (
    FIND_COORDINATOR,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)


async def coordinators_of(cluster: Cluster, groups: Sequence[str]) -> dict[int, list[str]]:
    """Return the groups by the id of the broker that coordinates them; tried once."""
    await cluster.metadata([])  # to know where brokers are
    request = FindCoordinatorRequest(coordinator_keys=list(dict.fromkeys(groups)))
    told = await cluster.ask(FIND_COORDINATOR, request, FindCoordinatorResponse)
    by_broker: dict[int, list[str]] = {}
    for one in told.coordinators:
        raise_for(one.error_code, f"the coordinator of group '{one.key}'", one.error_message)
        by_broker.setdefault(one.node_id, []).append(one.key)
    return by_broker


async def coordinator_of(cluster: Cluster, group: str) -> Connection:
    """Return a connection to the broker that coordinates a group; one that just died is waited out."""

    async def reach() -> Connection:
        (broker,) = await coordinators_of(cluster, [group])
        return await cluster.broker(broker)

    return await cluster.retried(reach)
