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
    consumer_group_describe,
    consumer_group_heartbeat,
    create_partitions,
    create_topics,
    delete_groups,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_topic_partitions,
    elect_leaders,
    fetch,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    list_partition_reassignments,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    sync_group,
)
from dray.api.exchange import Answer, CloseConnection, Context, Finish, Peer
from dray.api.metrics import ApiMetrics
from dray.api.services import Services
from dray.cluster.zones import zone_of
from dray.wire import LENGTH_BYTES, Api, Message, WireError, decode_request, encode_response, peek
from dray.wire.apis.alter_configs import ALTER_CONFIGS
from dray.wire.apis.api_versions import API_VERSIONS, ApiVersion, ApiVersionsRequest
from dray.wire.apis.consumer_group_describe import CONSUMER_GROUP_DESCRIBE
from dray.wire.apis.consumer_group_heartbeat import CONSUMER_GROUP_HEARTBEAT
from dray.wire.apis.create_partitions import CREATE_PARTITIONS
from dray.wire.apis.create_topics import CREATE_TOPICS
from dray.wire.apis.delete_groups import DELETE_GROUPS
from dray.wire.apis.delete_records import DELETE_RECORDS
from dray.wire.apis.delete_topics import DELETE_TOPICS
from dray.wire.apis.describe_cluster import DESCRIBE_CLUSTER
from dray.wire.apis.describe_configs import DESCRIBE_CONFIGS
from dray.wire.apis.describe_groups import DESCRIBE_GROUPS
from dray.wire.apis.describe_log_dirs import DESCRIBE_LOG_DIRS
from dray.wire.apis.describe_producers import DESCRIBE_PRODUCERS
from dray.wire.apis.describe_topic_partitions import DESCRIBE_TOPIC_PARTITIONS
from dray.wire.apis.elect_leaders import ELECT_LEADERS
from dray.wire.apis.fetch import FETCH
from dray.wire.apis.find_coordinator import FIND_COORDINATOR
from dray.wire.apis.heartbeat import HEARTBEAT
from dray.wire.apis.incremental_alter_configs import INCREMENTAL_ALTER_CONFIGS
from dray.wire.apis.init_producer_id import INIT_PRODUCER_ID
from dray.wire.apis.join_group import JOIN_GROUP
from dray.wire.apis.leave_group import LEAVE_GROUP
from dray.wire.apis.list_config_resources import LIST_CONFIG_RESOURCES
from dray.wire.apis.list_groups import LIST_GROUPS
from dray.wire.apis.list_offsets import LIST_OFFSETS
from dray.wire.apis.list_partition_reassignments import LIST_PARTITION_REASSIGNMENTS
from dray.wire.apis.metadata import METADATA
from dray.wire.apis.offset_commit import OFFSET_COMMIT
from dray.wire.apis.offset_delete import OFFSET_DELETE
from dray.wire.apis.offset_fetch import OFFSET_FETCH
from dray.wire.apis.offset_for_leader_epoch import OFFSET_FOR_LEADER_EPOCH
from dray.wire.apis.produce import PRODUCE
from dray.wire.apis.sync_group import SYNC_GROUP

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
        Served(OFFSET_COMMIT, 2, 10, in_turn(offset_commit.handle)),
        Served(OFFSET_FETCH, 1, 10, in_turn(offset_fetch.handle)),
        Served(JOIN_GROUP, 0, 9, in_turn(join_group.handle)),
        Served(HEARTBEAT, 0, 4, in_turn(heartbeat.handle)),
        Served(LEAVE_GROUP, 0, 5, in_turn(leave_group.handle)),
        Served(SYNC_GROUP, 0, 5, in_turn(sync_group.handle)),
        Served(DESCRIBE_GROUPS, 0, 6, in_turn(describe_groups.handle)),
        Served(LIST_GROUPS, 0, 5, in_turn(list_groups.handle)),
        Served(DELETE_GROUPS, 0, 2, in_turn(delete_groups.handle)),
        Served(OFFSET_DELETE, 0, 0, in_turn(offset_delete.handle)),
        Served(CONSUMER_GROUP_HEARTBEAT, 0, 1, in_turn(consumer_group_heartbeat.handle)),
        Served(CONSUMER_GROUP_DESCRIBE, 0, 1, in_turn(consumer_group_describe.handle)),
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
        self._metrics.of(served.api).begun(version, len(frame))
        client_id = header.client_id or ""
        context = Context(version, correlation_id, client_id, zone_of(client_id), peer)
        second_half = await served.begin(request, context, self._services)
        return partial(self._finish, served, context, second_half, started)

    async def _finish(
        self, served: Served, context: Context, second_half: SecondHalf, started: float
    ) -> Answer:
        monotonic, counted = self._services.clock.monotonic, self._metrics.of(served.api)
        turn = monotonic()
        response = await second_half()
        ended = monotonic()
        counted.seconds.observe(ended - started)
        counted.answer.observe(ended - turn - context.pauses.seconds)
        if response is None:
            return None
        counted.answered(response)
        answer = encode_response(served.api, context.version, context.correlation_id, response)
        counted.sent.inc(int.from_bytes(memoryview(answer[0])[:LENGTH_BYTES], "big"))
        return answer


def _unserved(key: int, version: int, correlation_id: int) -> Answer:
    if key != API_VERSIONS.key:
        raise CloseConnection(f"API {key} in version {version} is not served")
    response = api_versions.unsupported(SERVED[key].version_range())
    return encode_response(API_VERSIONS, 0, correlation_id, response)


async def _ready(answer: Answer) -> Answer:
    return answer
