"""Dispatch of requests: from a frame to the handler of its API, and from the handler's response to bytes.

`MODULES` lists the modules of the APIs that are served; each declares its own at its end, as `API`. Other
APIs are not advertised, and a request for one closes the connection, as in Kafka.
"""

from functools import partial
from typing import Final

from dray.api import (
    alter_client_quotas,
    alter_configs,
    alter_user_scram_credentials,
    api_versions,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_records,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_topic_partitions,
    describe_user_scram_credentials,
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
    sasl_authenticate,
    sasl_handshake,
    sync_group,
)
from dray.api.audit import Caller
from dray.api.authorization import Access
from dray.api.error_codes import codes_of, name_of
from dray.api.exchange import CloseConnection, Context, EncodedResponse, Finish, Peer, WaitTime
from dray.api.metrics import ApiMetrics, InstrumentsOfApi
from dray.api.served import Completion, Served
from dray.api.services import Services
from dray.api.throttling import Measured, Throttling
from dray.cluster.zones import zone_of
from dray.wire import LENGTH_BYTES, Message, WireError, decode_peeked_request, encode_response, peek
from dray.wire.apis.api_versions import API_VERSIONS

MODULES: Final = (
    alter_client_quotas,
    alter_configs,
    alter_user_scram_credentials,
    api_versions,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_records,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_topic_partitions,
    describe_user_scram_credentials,
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
    sasl_authenticate,
    sasl_handshake,
    sync_group,
)
SERVED: Final[dict[int, Served]] = {module.API.api.key: module.API for module in MODULES}
_UNANSWERED: Final = "unanswered"
"""The outcome of a request whose connection was closed instead: what it asked for may be done."""
api_versions.advertise(SERVED[key].advertised() for key in sorted(SERVED))


class Dispatcher:
    """Serves the requests of all connections."""

    def __init__(self, services: Services, metrics: ApiMetrics) -> None:
        self._services = services
        self._metrics = metrics
        self._quotas = services.quotas
        self._throttling = Throttling(services.quotas, services.clock, metrics)

    async def begin(self, frame: memoryview, peer: Peer) -> Finish:
        """Begin a request; the returned function waits for its response and encodes it."""
        started = self._services.clock.monotonic()
        try:
            key, version, correlation_id = peek(frame)
            served = SERVED.get(key)
            if served is None or not served.lowest <= version <= served.highest:
                return partial(_completed, _unserved(key, version, correlation_id))
            header, request = decode_peeked_request(served.api, version, frame)
        except WireError as error:
            raise CloseConnection(f"a request could not be read: {error}") from error
        instruments = self._metrics.of(served.api)
        instruments.begun(version, len(frame))
        client_id = header.client_id or ""
        caller = Caller(peer.principal, peer.host, client_id, served.api.name)
        acls = self._services.acls
        access = Access(None if acls is None else acls.authorizer, caller, self._services.audit)
        begin, measured, quota = served.begin, None, None
        if self._quotas.limits_clients and not peer.authenticates:
            measured = self._throttling.measured(served, caller, len(frame), started)
            if measured is not None:
                begin, quota = measured.begin, measured.quota
        zone = zone_of(client_id)
        context = Context(version, correlation_id, client_id, zone, peer, access, WaitTime(), quota)
        completion = await begin(request, context, self._services)
        if served.changes is not None and not getattr(request, "validate_only", False):
            completion = partial(self._audited, served, list(served.changes(request)), caller, completion)
        finish = partial(self._finish, served, context, completion, instruments, started)
        return finish if measured is None else partial(finish, measured=measured)

    def drain(self) -> None:
        """Answer every request that waits for records or for other group members at once."""
        self._services.groups.drain()
        self._services.drain.start()

    async def _audited(
        self, served: Served, subjects: list[str], caller: Caller, completion: Completion
    ) -> Message | None:
        """Complete an administrative request, and log its outcome, also if the client gets no answer."""
        errors = [_UNANSWERED]
        try:
            response = await completion()
            codes = [] if response is None else codes_of(served.api.response)(response)
            errors = [name_of(code) for code in codes]
        finally:
            self._services.audit.changed(caller, subjects, errors)
        return response

    async def _finish(
        self,
        served: Served,
        context: Context,
        completion: Completion,
        instruments: InstrumentsOfApi,
        started: float,
        *,
        measured: Measured | None = None,
    ) -> EncodedResponse:
        monotonic = self._services.clock.monotonic
        resumed = monotonic()
        response = await completion()
        ended = monotonic()
        instruments.seconds.observe(ended - started)
        instruments.processing.observe(ended - resumed - context.waited.seconds)
        if response is None:
            return None
        instruments.answered(response)
        if measured is None:
            encoded = encode_response(served.api, context.version, context.correlation_id, response)
        else:
            encoded = measured.encode(served.api, context, response)
        instruments.sent.inc(int.from_bytes(memoryview(encoded[0])[:LENGTH_BYTES], "big"))
        return encoded


def _unserved(key: int, version: int, correlation_id: int) -> EncodedResponse:
    if key != API_VERSIONS.key:
        raise CloseConnection(f"API {key} in version {version} is not served")
    response = api_versions.unsupported(SERVED[key].advertised())
    return encode_response(API_VERSIONS, 0, correlation_id, response)


async def _completed(response: EncodedResponse) -> EncodedResponse:
    return response
