"""A broker: everything below put together, from the stores to the listening socket.

    stores ─▶ identity ─▶ log ─▶ topics and brokers ─▶ listener ─▶ registered ─▶ serving

It stops in the opposite order: first no new connections and everything asked is answered, then the
registration goes, then nothing is left in the log's buffers, then the stores are closed.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial

from dray import __version__
from dray.api.dispatch import Dispatcher
from dray.api.metrics import ApiMetrics
from dray.api.services import Services
from dray.cli.addresses import Address
from dray.cli.failure import Failure
from dray.cli.settings import DraySettings
from dray.cli.waiting import told_if_long
from dray.cli.wiring import Stores, Surroundings, encode_group, open_stores, store_checks
from dray.cluster import ClusterIdentity, IdentityError, StoreNames, claim
from dray.cluster.brokers import BrokerIdTaken, BrokerInfo, LiveBrokers, Registration
from dray.cluster.group_configs import GroupConfigs
from dray.cluster.producer_ids import ProducerIds
from dray.cluster.topics import Streams, Topics
from dray.console import CannotServeHttp, HttpServer, health_routes
from dray.coordinators import (
    CoordinatorParts,
    GroupCoordinator,
    GroupMetrics,
    LagMeter,
    OffsetExpiry,
    TopicsSeen,
)
from dray.ids import MetaDomain, StreamId
from dray.log import Log, LogMetrics, LogParts, StreamUnknown
from dray.meta.port import MetaError
from dray.net import CannotListen, Listener
from dray.net.metrics import NetMetrics
from dray.objects.port import ObjectError
from dray.runtime import Threads
from dray.sweep import DomainSweep, TopicPolicies

_SWEEP_SECONDS = 60.0
_PARQUET_THREADS = 2
_STRAY_SECONDS = 6 * 3600.0
_CANNOT_START = (MetaError, ObjectError, IdentityError, CannotListen, CannotServeHttp, BrokerIdTaken)


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker that is serving."""

    info: BrokerInfo
    listen: str
    http: str
    services: Services

    @property
    def kafka(self) -> str:
        """Where clients are told to connect."""
        return str(Address(self.info.host, self.info.port))


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
        metrics = NetMetrics.on(around.metrics)
        listener = Listener(
            settings=self.settings.net, clock=around.clock, tasks=around.tasks, metrics=metrics
        )
        host, port = Address.parse(self.settings.broker.listen)
        port = await listener.bind(host, port)
        info = self._info(host, port)
        async with AsyncExitStack() as failing:
            failing.push_async_callback(listener.stop)  # should the rest fail, the address is free again
            names = self._names()
            async with self._told_if_long(f"the stores {names.metadata} and {names.objects} to answer"):
                identity = await self._claim(names)
            services = await self._registered(info, identity, stopping)
            await listener.serve(Dispatcher(services, ApiMetrics.on(around.metrics)))
            failing.pop_all()
        stopping.push_async_callback(listener.stop)
        stopping.callback(services.groups.close)  # first: who waits for a group would keep the listener open
        self._start_sweeps(services, identity)
        around.metrics.add_process()
        return Broker(info, str(Address(host, port)), await self._show(stopping), services)

    async def _registered(
        self, info: BrokerInfo, identity: ClusterIdentity, stopping: AsyncExitStack
    ) -> Services:
        """Start everything that answers requests, and let the others know of this broker."""
        threads = Threads("parquet", _PARQUET_THREADS)
        stopping.push_async_callback(threads.stop)
        log = self._log(identity, threads)
        await log.start()
        stopping.push_async_callback(log.close)
        services = await self._services(log, info, identity)
        stopping.push_async_callback(services.threads.stop)
        ttl_ms = self.settings.metadata.session_ttl_ms
        registration = Registration(self.stores.meta, info, ttl_ms=ttl_ms, clock=self.around.clock)
        async with self._told_if_long(
            f"broker id {info.broker_id}, which another process may have, to be free; "
            "--broker-id gives this one another"
        ):
            await registration.start(self.around.tasks)
        stopping.push_async_callback(registration.stop)
        return services

    async def _show(self, stopping: AsyncExitStack) -> str:
        """Serve health and metrics; returns the address."""
        server = HttpServer(health_routes(store_checks(self.stores), self.around.metrics))
        host, port = Address.parse(self.settings.broker.http)
        port = await server.start(host, port)
        stopping.push_async_callback(server.stop)
        return str(Address(host, port))

    def _info(self, host: str, port: int) -> BrokerInfo:
        broker = self.settings.broker
        if broker.advertise is not None:
            host, port = Address.parse(broker.advertise)
        return BrokerInfo(broker.id, host, port, broker.zone, self.around.clock.now_ms(), __version__)

    def _told_if_long(self, what: str) -> AbstractAsyncContextManager[None]:
        return told_if_long(what, self.around.clock, self.around.tasks)

    def _names(self) -> StoreNames:
        return StoreNames(self.settings.metadata.url, self.settings.storage.url)

    async def _claim(self, names: StoreNames) -> ClusterIdentity:
        return await claim(
            self.stores.meta,
            self.stores.objects,
            cluster_id=self.settings.cluster.id,
            domains=self.settings.cluster.domains,
            clock=self.around.clock,
            entropy=self.around.entropy,
            names=names,
        )

    def _log(self, identity: ClusterIdentity, threads: Threads) -> Log:
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
                encode_group=partial(encode_group, threads),
            )
        )

    async def _services(self, log: Log, info: BrokerInfo, identity: ClusterIdentity) -> Services:
        meta, around = self.stores.meta, self.around
        topics = Topics(meta, _streams_of(log), around.clock, around.entropy)
        await topics.start(around.tasks)
        brokers = LiveBrokers(meta, around.clock)
        await brokers.start(around.tasks)
        group_configs = GroupConfigs(meta, self.settings.groups, around.clock)
        await group_configs.start(around.tasks)
        group_metrics = GroupMetrics.on(around.metrics)
        groups = GroupCoordinator(
            CoordinatorParts(
                info.broker_id,
                meta,
                identity.domains,
                brokers,
                TopicsSeen(topics),
                group_configs.limits_of,
                around.clock,
                around.tasks,
                group_metrics,
            )
        )
        await groups.start()
        self._start_lag(LagMeter(groups, topics, log.recent_head, group_metrics, around.clock))
        return Services(
            cluster_id=identity.cluster_id,
            me=info,
            log=log,
            topics=topics,
            brokers=brokers,
            producer_ids=ProducerIds(meta),
            groups=groups,
            group_configs=group_configs,
            settings=self.settings.kafka,
            clock=around.clock,
            entropy=around.entropy,
            log_dir=self.settings.storage.url,
        )

    def _start_lag(self, meter: LagMeter) -> None:
        interval_ms = self.settings.groups.lag_interval_ms
        if interval_ms:
            tasks, clock = self.around.tasks, self.around.clock
            tasks.every(interval_ms / 1000, meter.measure, name="measure-lag", clock=clock)

    def _start_sweeps(self, services: Services, identity: ClusterIdentity) -> None:
        """Every broker sweeps; doing it several times at once is no harm."""
        topics = services.topics
        every = partial(self.around.tasks.every, clock=self.around.clock)
        expiry_seconds = self.settings.groups.offsets_retention_check_interval_ms / 1000
        expiry = OffsetExpiry(services.groups, services.groups.store, _id_of(topics), self.around.clock)
        every(expiry_seconds, expiry.run, name="expire-offsets")
        every(_SWEEP_SECONDS, topics.finish_deletions, name="sweep-topics")
        policies = TopicPolicies(topics)
        for domain in map(MetaDomain, range(identity.domains)):
            sweep = DomainSweep(
                self.stores.meta,
                self.stores.objects,
                domain,
                domains=identity.domains,
                clock=self.around.clock,
                settings=self.settings.log,
                policy_of=policies.of,
            )
            every(_SWEEP_SECONDS, partial(_sweep, policies, sweep), name="sweep-log")
            every(_STRAY_SECONDS, sweep.run_strays, name="sweep-strays")


async def _sweep(policies: TopicPolicies, sweep: DomainSweep) -> None:
    policies.look()
    await sweep.run()


def _streams_of(log: Log) -> Streams:
    return Streams(log.create_stream, _if_there(log.condemn_stream), _if_there(log.delete_stream))


def _if_there(work: Callable[[StreamId], Awaitable[None]]) -> Callable[[StreamId], Awaitable[None]]:
    async def done(stream: StreamId) -> None:
        with suppress(StreamUnknown):  # it is gone
            await work(stream)

    return done


def _id_of(topics: Topics) -> Callable[[str], Awaitable[bytes | None]]:
    async def topic_id(name: str) -> bytes | None:
        topic = await topics.fresh(name)
        return None if topic is None else topic.topic_id

    return topic_id
