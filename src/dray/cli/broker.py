"""A broker: everything below put together, from the stores to the listening socket.

    stores ─▶ identity ─▶ log ─▶ topics and brokers ─▶ listener ─▶ registered ─▶ serving

It stops in the opposite order: first no new connections and everything asked is answered, then the
registration goes, then nothing is left in the log's buffers, then the stores are closed.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial

from dray import __version__
from dray.api import ApiMetrics, Dispatcher, Services
from dray.cli.failure import Failure
from dray.cli.settings import DraySettings
from dray.cli.wiring import Stores, Surroundings, open_stores
from dray.cluster import ClusterIdentity, IdentityError, StoreNames, claim
from dray.cluster.brokers import BrokerIdTaken, BrokerInfo, LiveBrokers, Registration
from dray.cluster.identity_plan import MARK_PATH
from dray.cluster.keys import CLUSTER_DOMAIN, TOPICS_PREFIX
from dray.cluster.producer_ids import ProducerIds
from dray.cluster.topics import Streams, Topics
from dray.console import CannotServeHttp, HttpServer, health_routes
from dray.ids import MetaDomain, StreamId
from dray.log import Log, LogMetrics, LogParts, StreamUnknown
from dray.meta.port import MetaError
from dray.net import CannotListen, Listener
from dray.objects.port import ObjectError
from dray.sweep import DomainSweep, TopicPolicies

_SWEEP_SECONDS = 60.0
_STRAY_SECONDS = 6 * 3600.0
_CANNOT_START = (MetaError, ObjectError, IdentityError, CannotListen, CannotServeHttp, BrokerIdTaken)


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker that is serving."""

    info: BrokerInfo
    http: str
    services: Services


@asynccontextmanager
async def running_broker(settings: DraySettings, around: Surroundings) -> AsyncIterator[Broker]:
    """Start a broker, and stop it at the end."""
    async with AsyncExitStack() as stopping:
        stores = await stopping.enter_async_context(open_stores(settings, around))
        try:
            broker = await _Assembly(settings, around, stores).start(stopping)
        except _CANNOT_START as error:
            raise Failure(str(error)) from error
        yield broker


@dataclass(frozen=True, slots=True)
class _Assembly:
    """What a broker is made of, and the order in which it is put together."""

    settings: DraySettings
    around: Surroundings
    stores: Stores

    async def start(self, stopping: AsyncExitStack) -> Broker:
        around = self.around
        listener = Listener(settings=self.settings.net, clock=around.clock, tasks=around.tasks)
        host, port = _split(self.settings.broker.listen)
        info = self._info(host, await listener.bind(host, port))
        identity = await self._claim()
        log = self._log(identity)
        await log.start()
        stopping.push_async_callback(log.close)
        services = await self._services(log, info, identity)
        ttl_ms = self.settings.metadata.session_ttl_ms
        registration = Registration(self.stores.meta, info, ttl_ms=ttl_ms, clock=around.clock)
        await registration.start(around.tasks)
        stopping.push_async_callback(registration.stop)
        await listener.serve(Dispatcher(services, ApiMetrics.on(around.metrics)))
        stopping.push_async_callback(listener.stop)
        self._start_sweeps(services.topics, identity)
        around.metrics.add_process()
        return Broker(info, await self._show(stopping), services)

    async def _show(self, stopping: AsyncExitStack) -> str:
        """Serve health and metrics; returns the address."""
        checks: dict[str, Callable[[], Awaitable[object]]] = {
            "metadata": partial(self.stores.meta.get, CLUSTER_DOMAIN, TOPICS_PREFIX),
            "objects": partial(self.stores.objects.head, MARK_PATH),
        }
        server = HttpServer(health_routes(checks, self.around.metrics))
        host, port = _split(self.settings.broker.http)
        port = await server.start(host, port)
        stopping.push_async_callback(server.stop)
        return f"{host}:{port}"

    def _info(self, host: str, port: int) -> BrokerInfo:
        broker = self.settings.broker
        if broker.advertise is not None:
            host, port = _split(broker.advertise)
        return BrokerInfo(broker.id, host, port, broker.zone, self.around.clock.now_ms(), __version__)

    async def _claim(self) -> ClusterIdentity:
        return await claim(
            self.stores.meta,
            self.stores.objects,
            cluster_id=self.settings.cluster.id,
            domains=self.settings.cluster.domains,
            clock=self.around.clock,
            entropy=self.around.entropy,
            names=StoreNames(self.settings.metadata.url, self.settings.storage.url),
        )

    def _log(self, identity: ClusterIdentity) -> Log:
        around = self.around
        return Log(
            LogParts(
                self.stores.meta,
                self.stores.objects,
                around.clock,
                around.entropy,
                around.tasks,
                self.settings.log,
                LogMetrics.on(around.metrics),
                zone=self.settings.broker.zone or "none",
                domains=identity.domains,
            )
        )

    async def _services(self, log: Log, info: BrokerInfo, identity: ClusterIdentity) -> Services:
        meta, around = self.stores.meta, self.around
        topics = Topics(meta, Streams(log.create_stream, _deleting(log)), around.clock, around.entropy)
        await topics.start(around.tasks)
        brokers = LiveBrokers(meta, around.clock)
        await brokers.start(around.tasks)
        return Services(
            cluster_id=identity.cluster_id,
            me=info,
            log=log,
            topics=topics,
            brokers=brokers,
            producer_ids=ProducerIds(meta),
            settings=self.settings.kafka,
            clock=around.clock,
            log_dir=self.settings.storage.url,
        )

    def _start_sweeps(self, topics: Topics, identity: ClusterIdentity) -> None:
        """Every broker sweeps; doing it several times at once is no harm."""
        every = partial(self.around.tasks.every, clock=self.around.clock)
        every(_SWEEP_SECONDS, topics.finish_deletions, name="sweep-topics")
        policies = TopicPolicies(topics)
        for domain in map(MetaDomain, range(identity.domains)):
            sweep = DomainSweep(
                self.stores.meta,
                self.stores.objects,
                domain,
                clock=self.around.clock,
                settings=self.settings.log,
                policy_of=policies.of,
            )
            every(_SWEEP_SECONDS, partial(_sweep, policies, sweep), name="sweep-log")
            every(_STRAY_SECONDS, sweep.run_strays, name="sweep-strays")


async def _sweep(policies: TopicPolicies, sweep: DomainSweep) -> None:
    policies.look()
    await sweep.run()


def _deleting(log: Log) -> Callable[[StreamId], Awaitable[None]]:
    async def delete(stream: StreamId) -> None:
        with suppress(StreamUnknown):  # it is gone, or going: the sweep finishes what was begun
            await log.delete_stream(stream)

    return delete


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)
