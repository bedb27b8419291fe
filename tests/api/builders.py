"""Brokers on shared in-memory stores and virtual time, called with the bytes of requests."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

from dray.api.audit import AuditLog
from dray.api.dispatch import Dispatcher
from dray.api.exchange import CloseConnection, EncodedResponse, Peer
from dray.api.fetch_sessions import FetchSessions
from dray.api.metrics import ApiMetrics, FetchSessionMetrics
from dray.api.services import Services
from dray.api.settings import KafkaSettings
from dray.cluster.acl_admin import AclAdmin
from dray.cluster.acls import AclView
from dray.cluster.brokers import PLAINTEXT, BrokerInfo, Endpoint, LiveBrokers, Registration
from dray.cluster.group_configs import GroupConfigs
from dray.cluster.producer_ids import ProducerIds
from dray.cluster.quotas import ClientQuotas
from dray.cluster.routing import Routing
from dray.cluster.settings import RoutingSettings, SecuritySettings
from dray.cluster.topic_admin import TopicAdmin
from dray.cluster.topics import Topic, TopicCatalog
from dray.cluster.users import Users
from dray.coordinators import BrokerTopicsImage, CoordinatorDeps, GroupCoordinator
from dray.groups.limits import GroupLimits
from dray.log import Log, LogDeps, LogMetrics, LogSettings
from dray.meta.memory import MemoryMetaServer, MemoryMetaStore
from dray.meta.port import Unavailable
from dray.objects.memory import MemoryBucket, MemoryObjects
from dray.observe import Metrics
from dray.runtime import Tasks
from dray.testing.clock import VirtualClock
from dray.testing.entropy import SeededEntropy
from dray.testing.sim.batches import tagged_batch
from dray.testing.virtual_loop import run, virtual_loop
from dray.wire import APIS, LENGTH_BYTES, Api, Message, RequestHeader, decode_response, encode_request
from dray.wire.apis.api_versions import ApiVersionsRequest
from dray.wire.apis.describe_acls import DescribeAclsRequest

M = TypeVar("M", bound=Message)
T = TypeVar("T")
PEER = Peer("127.0.0.1", 50_000)
TTL_MS = 1_000
PRODUCER_EXPIRY_MS = 10_000
_ROUTING = RoutingSettings()
_LIMITS = GroupLimits(initial_rebalance_delay_ms=0)
_BY_REQUEST = {api.request: api for api in APIS.values()}
_BY_RESPONSE = {api.response: api for api in APIS.values()}


def smallest_request(api: Api) -> Message:
    """Return a valid request without contents."""
    match api.name:
        case "ApiVersions":
            return ApiVersionsRequest(client_software_name="x", client_software_version="1")
        case "DescribeAcls":
            return DescribeAclsRequest(
                resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1
            )
    return api.request()


class YieldingLink:
    """Yields to other tasks before each call, so that the steps of brokers interleave."""

    def __init__(self) -> None:
        self.unavailable = False
        """Whether all calls are refused."""

    async def call(self, request: Callable[[], T]) -> T:
        await asyncio.sleep(0)
        if self.unavailable:
            raise Unavailable("refused by the test")
        return request()


class Broker:
    """A broker, from the bytes of a request to the bytes of its response."""

    def __init__(
        self,
        services: Services,
        tasks: Tasks,
        registration: Registration,
        link: YieldingLink | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self.services = services
        self.link = link or YieldingLink()
        self._log_metrics = metrics or Metrics()
        self.tasks = tasks
        self.registration = registration
        self.muted: list[float] = []
        """For how long the connection was muted, once for each throttled request."""
        self.api_metrics = Metrics()
        self._dispatcher = Dispatcher(services, ApiMetrics.on(self.api_metrics))

    async def ask(
        self,
        response_type: type[M],
        request: Message,
        version: int | None = None,
        *,
        client_id: str = "test",
        listener: str = PLAINTEXT,
    ) -> M:
        """Send a request, by default in the highest version, and return the response."""
        api = _BY_RESPONSE[response_type]
        assert api is _BY_REQUEST[type(request)]
        version = api.highest if version is None else version
        buffers = await self._answer(api, version, request, client_id, PEER._replace(listener=listener))
        assert buffers is not None
        correlation_id, body = decode_response(api, version, b"".join(buffers)[LENGTH_BYTES:])
        assert correlation_id == 7
        assert isinstance(body, response_type)
        return body

    def counted(self, name: str) -> float:
        """Return a metric of the log."""
        return self._log_metrics.registry.get_sample_value(name) or 0.0

    async def closing_reason(self, request: Message) -> str:
        """Send a request after which the connection is closed, and return why."""
        api = _BY_REQUEST[type(request)]
        with pytest.raises(CloseConnection) as closed:
            await self._answer(api, api.highest, request, "test")
        return str(closed.value)

    async def send_silently(self, request: Message, *, client_id: str = "test") -> None:
        """Send a request that gets no response."""
        api = _BY_REQUEST[type(request)]
        assert await self._answer(api, api.highest, request, client_id) is None

    async def _answer(
        self, api: Api, version: int, request: Message, client_id: str, peer: Peer = PEER
    ) -> EncodedResponse:
        header = RequestHeader(api.key, version, 7, client_id)
        frame = b"".join(encode_request(api, header, request))[LENGTH_BYTES:]
        finish = await self._dispatcher.begin(memoryview(frame), peer._replace(mute=self.muted.append))
        return await finish()

    async def make_topic(self, name: str = "t", partitions: int = 1, **configs: str) -> Topic:
        """Create a topic without the API; `_` in the names of configs stands for a dot."""
        given = {key.replace("_", "."): value for key, value in configs.items()}
        return await self.services.topic_admin.create(name, partitions, given)

    async def append(self, topic: Topic, tag: str = "x", *, records: int = 1, **producer: int) -> int:
        """Append a batch to partition 0; returns its offset."""
        now_ms = self.services.clock.now_ms()
        batch = tagged_batch(tag, now_ms, records=records, **producer)
        return (await (await self.services.log.append(topic.streams[0], batch))).base_offset

    def drain(self) -> None:
        """Do what a shutdown does before the connections are closed."""
        self._dispatcher.drain()

    async def stop(self) -> None:
        await self.registration.stop()
        await self.tasks.stop()


class Cluster:
    """Stores, and brokers on them."""

    def __init__(self) -> None:
        self.clock = VirtualClock(virtual_loop())
        self.server = MemoryMetaServer(self.clock)
        self.bucket = MemoryBucket(self.clock)

    def meta(self, name: str, tasks: Tasks, link: YieldingLink | None = None) -> MemoryMetaStore:
        link = link or YieldingLink()
        return MemoryMetaStore(self.server, self.clock, SeededEntropy(name), tasks=tasks, link=link)

    async def broker(
        self,
        broker_id: int = 1,
        zone: str | None = None,
        settings: KafkaSettings | None = None,
        limits: GroupLimits = _LIMITS,
        routing: RoutingSettings = _ROUTING,
        *,
        listeners: tuple[Endpoint, ...] = (),
        security: SecuritySettings | None = None,
    ) -> Broker:
        """Start a broker; it is registered when this returns."""
        tasks, entropy = Tasks(), SeededEntropy(f"broker {broker_id}")
        link = YieldingLink()
        meta = self.meta(f"meta {broker_id}", tasks, link)
        metrics = Metrics()
        log = self._log(meta, tasks, entropy, metrics)
        await log.start()
        topics = TopicCatalog(meta, self.clock)
        await topics.start(tasks)
        brokers = LiveBrokers(meta, self.clock)
        await brokers.start(tasks)
        host, port, now_ms = f"host{broker_id}", 9092 + broker_id, self.clock.now_ms()
        info = BrokerInfo(broker_id, host, port, zone, now_ms, "1", listeners)
        registration = Registration(meta, info, ttl_ms=TTL_MS, clock=self.clock)
        await registration.start(tasks)
        group_configs = GroupConfigs(meta, limits, self.clock)
        await group_configs.start(tasks)
        quotas = ClientQuotas(meta, self.clock)
        await quotas.start(tasks)
        groups = GroupCoordinator(
            CoordinatorDeps(
                broker_id,
                meta,
                1,
                brokers,
                BrokerTopicsImage(topics),
                group_configs.limits_of,
                self.clock,
                tasks,
            )
        )
        await groups.start()
        acls = None if security is None else AclView(meta, security, self.clock)
        if acls is not None:
            await acls.start(tasks)
        users = Users(meta, self.clock)
        await users.start(tasks)
        services = Services(
            cluster_id="cluster",
            me=info,
            log=log,
            topics=topics,
            topic_admin=TopicAdmin(topics, meta, log, self.clock, entropy),
            routing=Routing(brokers, info, routing),
            producer_ids=ProducerIds(meta),
            groups=groups,
            group_configs=group_configs,
            quotas=quotas,
            users=users,
            fetch_sessions=FetchSessions(
                settings or KafkaSettings(),
                entropy,
                self.clock.monotonic,
                FetchSessionMetrics.on(metrics),
            ),
            audit=AuditLog(self.clock),
            settings=settings or KafkaSettings(),
            clock=self.clock,
            entropy=entropy,
            acls=acls,
            acl_admin=None if acls is None else AclAdmin(acls, meta),
            log_dir="memory:",
        )
        await self.settle()
        return Broker(services, tasks, registration, link, metrics)

    def _log(self, meta: MemoryMetaStore, tasks: Tasks, entropy: SeededEntropy, metrics: Metrics) -> Log:
        settings = LogSettings(producer_id_expiration_ms=PRODUCER_EXPIRY_MS)
        objects = MemoryObjects(self.bucket)
        return Log(LogDeps(meta, objects, self.clock, entropy, tasks, settings, LogMetrics.on(metrics)))

    async def settle(self) -> None:
        """Wait until every watch has delivered its changes."""
        await self.clock.sleep(0.001)


def with_cluster(body: Callable[[Cluster], Coroutine[Any, Any, None]]) -> None:
    """Run `body`, which starts the brokers it needs."""

    async def main() -> None:
        await body(Cluster())

    run(main())


def with_broker(body: Callable[[Broker], Coroutine[Any, Any, None]]) -> None:
    """Run `body` with the only broker of a cluster."""

    async def main() -> None:
        await body(await Cluster().broker())

    run(main())


def on_cluster(body: Callable[[Cluster], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Make a test of `body`, which starts the brokers it needs."""

    def test() -> None:
        with_cluster(body)

    test.__doc__ = body.__doc__
    return test


def on_broker(body: Callable[[Broker], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Make a test of `body`, which gets the only broker of a cluster."""

    def test() -> None:
        with_broker(body)

    test.__doc__ = body.__doc__
    return test
