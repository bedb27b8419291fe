"""From a frame to its handler and back.

`SERVED` lists the APIs, each with the versions that are served and the handler. What is not in it is not
advertised, and who asks for it is cut off, as Kafka does it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from dray.api import (
    alter_configs,
    api_versions,
    create_partitions,
    create_topics,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_log_dirs,
    describe_producers,
    describe_topic_partitions,
    elect_leaders,
    fetch,
    find_coordinator,
    incremental_alter_configs,
    init_producer_id,
    list_config_resources,
    list_offsets,
    list_partition_reassignments,
    metadata,
    offset_for_leader_epoch,
    produce,
)
from dray.api.exchange import Answer, CloseConnection, Context, Finish, Peer
from dray.api.metrics import ApiMetrics
from dray.api.services import Services
from dray.cluster.zones import zone_of
from dray.wire import Api, Message, WireError, decode_request, encode_response, peek
from dray.wire.apis.alter_configs import ALTER_CONFIGS
from dray.wire.apis.api_versions import API_VERSIONS, ApiVersion, ApiVersionsRequest
from dray.wire.apis.create_partitions import CREATE_PARTITIONS
from dray.wire.apis.create_topics import CREATE_TOPICS
from dray.wire.apis.delete_records import DELETE_RECORDS
from dray.wire.apis.delete_topics import DELETE_TOPICS
from dray.wire.apis.describe_cluster import DESCRIBE_CLUSTER
from dray.wire.apis.describe_configs import DESCRIBE_CONFIGS
from dray.wire.apis.describe_log_dirs import DESCRIBE_LOG_DIRS
from dray.wire.apis.describe_producers import DESCRIBE_PRODUCERS
from dray.wire.apis.describe_topic_partitions import DESCRIBE_TOPIC_PARTITIONS
from dray.wire.apis.elect_leaders import ELECT_LEADERS
from dray.wire.apis.fetch import FETCH
from dray.wire.apis.find_coordinator import FIND_COORDINATOR
from dray.wire.apis.incremental_alter_configs import INCREMENTAL_ALTER_CONFIGS
from dray.wire.apis.init_producer_id import INIT_PRODUCER_ID
from dray.wire.apis.list_config_resources import LIST_CONFIG_RESOURCES
from dray.wire.apis.list_offsets import LIST_OFFSETS
from dray.wire.apis.list_partition_reassignments import LIST_PARTITION_REASSIGNMENTS
from dray.wire.apis.metadata import METADATA
from dray.wire.apis.offset_for_leader_epoch import OFFSET_FOR_LEADER_EPOCH
from dray.wire.apis.produce import PRODUCE

SecondHalf: TypeAlias = Callable[[], Awaitable[Message | None]]
Handler: TypeAlias = Callable[[Any, Context, Services], Awaitable[Message]]
"""Each handler takes its own API's request; which one that is, the table says."""
Begin: TypeAlias = Callable[[Any, Context, Services], Awaitable[SecondHalf]]


@dataclass(frozen=True, slots=True)
class Served:
    """One API, the versions of it that are served, and what serves it."""

    api: Api
    lowest: int
    highest: int
    begin: Begin
    advertised_lowest: int | None = None

    def version_range(self) -> ApiVersion:
        lowest = self.lowest if self.advertised_lowest is None else self.advertised_lowest
        return ApiVersion(api_key=self.api.key, min_version=lowest, max_version=self.highest)


def in_turn(handler: Handler) -> Begin:
    """Make a handler one that does its work when the requests before it have been answered, as in Kafka.

    So a client that asks a lot and does not read holds one answer in memory, not all of them.
    """

    async def begin(request: Any, context: Context, services: Services) -> SecondHalf:  # noqa: ANN401
        return partial(handler, request, context, services)

    return begin


async def _api_versions(request: ApiVersionsRequest, context: Context, _: Services) -> Message:
    return api_versions.answer(request, context.version, _ADVERTISED)


SERVED: Final = {
    served.api.key: served
    for served in (
        # Kafka advertises Produce from 0, which old librdkafka needs to compress; 0 to 2 are not served.
        Served(PRODUCE, 3, 13, produce.begin, advertised_lowest=0),
        Served(FETCH, 4, 17, in_turn(fetch.handle)),
        Served(LIST_OFFSETS, 1, 11, in_turn(list_offsets.handle)),
        Served(METADATA, 0, 13, in_turn(metadata.handle)),
        Served(FIND_COORDINATOR, 0, 6, in_turn(find_coordinator.handle)),
        Served(API_VERSIONS, 0, 4, in_turn(_api_versions)),
        Served(CREATE_TOPICS, 2, 7, in_turn(create_topics.handle)),
        Served(DELETE_TOPICS, 1, 6, in_turn(delete_topics.handle)),
        Served(DELETE_RECORDS, 0, 2, in_turn(delete_records.handle)),
        Served(INIT_PRODUCER_ID, 0, 5, in_turn(init_producer_id.handle)),
        Served(OFFSET_FOR_LEADER_EPOCH, 2, 4, in_turn(offset_for_leader_epoch.handle)),
        Served(DESCRIBE_CONFIGS, 1, 4, in_turn(describe_configs.handle)),
        Served(ALTER_CONFIGS, 0, 2, in_turn(alter_configs.handle)),
        Served(DESCRIBE_LOG_DIRS, 1, 5, in_turn(describe_log_dirs.handle)),
        Served(CREATE_PARTITIONS, 0, 3, in_turn(create_partitions.handle)),
        Served(ELECT_LEADERS, 0, 2, in_turn(elect_leaders.handle)),
        Served(INCREMENTAL_ALTER_CONFIGS, 0, 1, in_turn(incremental_alter_configs.handle)),
        Served(LIST_PARTITION_REASSIGNMENTS, 0, 0, in_turn(list_partition_reassignments.handle)),
        Served(DESCRIBE_CLUSTER, 0, 2, in_turn(describe_cluster.handle)),
        Served(DESCRIBE_PRODUCERS, 0, 0, in_turn(describe_producers.handle)),
        Served(LIST_CONFIG_RESOURCES, 0, 1, in_turn(list_config_resources.handle)),
        Served(DESCRIBE_TOPIC_PARTITIONS, 0, 0, in_turn(describe_topic_partitions.handle)),
    )
}
_ADVERTISED: Final = [SERVED[key].version_range() for key in sorted(SERVED)]


class Dispatcher:
    """Serves the requests of all connections."""

    def __init__(self, services: Services, metrics: ApiMetrics) -> None:
        self._services = services
        self._metrics = metrics

    async def begin(self, frame: memoryview, peer: Peer) -> Finish:
        """Begin a request; calling what is returned gives its answer."""
        started = self._services.clock.monotonic()
        try:
            key, version, correlation_id = peek(frame)
            served = SERVED.get(key)
            if served is None or not served.lowest <= version <= served.highest:
                return partial(_ready, _unserved(key, version, correlation_id))
            header, request = decode_request(frame)
        except WireError as error:
            raise CloseConnection(f"a request could not be read: {error}") from error
        client_id = header.client_id or ""
        context = Context(version, correlation_id, client_id, zone_of(client_id), peer)
        second_half = await served.begin(request, context, self._services)
        return partial(self._finish, served, context, second_half, started)

    async def _finish(
        self, served: Served, context: Context, second_half: SecondHalf, started: float
    ) -> Answer:
        response = await second_half()
        self._metrics.served(served.api.name, self._services.clock.monotonic() - started)
        if response is None:
            return None
        return encode_response(served.api, context.version, context.correlation_id, response)


def _unserved(key: int, version: int, correlation_id: int) -> Answer:
    if key != API_VERSIONS.key:
        raise CloseConnection(f"API {key} in version {version} is not served")
    response = api_versions.unsupported(SERVED[key].version_range())
    return encode_response(API_VERSIONS, 0, correlation_id, response)


async def _ready(answer: Answer) -> Answer:
    return answer
