"""Assembly of a broker, from the stores to the listening socket.

    stores ─▶ identity ─▶ log ─▶ topics and brokers ─▶ registered ─▶ serving ─▶ sweeps, backups, HTTP

At shutdown the broker first leaves the cluster (see `leaving`). Then, in the opposite order, the listener
accepts no more connections and answers pending requests, the log's buffers are flushed, and the stores are
closed.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from dray import __version__
from dray.api.dispatch import Dispatcher
from dray.api.metrics import ApiMetrics
from dray.api.services import Services
from dray.cluster import ClusterIdentity, IdentityError, StoreNames, claim
from dray.cluster.addresses import Address
from dray.cluster.broker_ids import claim_broker_id
from dray.cluster.brokers import BrokerIdTaken, BrokerInfo, Registration
from dray.cluster.routing import Routing
from dray.meta.port import MetaError
from dray.net import CannotListen, SocketServer
from dray.net.authenticator import Authenticator
from dray.net.endpoints import written
from dray.net.metrics import NetMetrics
from dray.net.tls import TlsContexts
from dray.objects.port import ObjectError
from dray.observe import logged_fields
from dray.server.authentication import Authentication
from dray.server.continuous_backups import start_backups
from dray.server.errors import StartupError
from dray.server.http_endpoint import http_access, serve_http
from dray.server.leaving import Departure
from dray.server.listeners import Listeners, listeners_of
from dray.server.services import ServicesAssembly
from dray.server.slow_start import log_if_slow
from dray.server.store_urls import domains_of_new_cluster
from dray.server.stores import ProcessContext, Stores, open_stores
from dray.server.supersession import Supersession
from dray.server.sweeps import start_sweeps
from dray.settings import DraySettings

_PARQUET_THREADS = 2
_CANNOT_START = (MetaError, ObjectError, IdentityError, CannotListen, BrokerIdTaken)


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker that is serving."""

    info: BrokerInfo
    listen: str
    """All addresses that it listens on, as the setting has them."""
    http: str
    services: Services
    supersession: Supersession

    @property
    def kafka(self) -> str:
        """The advertised addresses."""
        endpoints = {one.name: Address(one.host, one.port) for one in self.info.listeners}
        return written(endpoints)


@asynccontextmanager
async def running_broker(
    settings: DraySettings, context: ProcessContext, *, waits: bool = False
) -> AsyncIterator[Broker]:
    """Run a broker until the block ends; one that `waits` may be started before its metadata store."""
    async with AsyncExitStack() as stopping:
        stores = await stopping.enter_async_context(open_stores(settings, context, waits=waits))
        try:
            broker = await _BrokerAssembly(settings, context, stores).start(stopping)
        except _CANNOT_START as error:
            raise StartupError(str(error)) from error
        yield broker


@dataclass(frozen=True, slots=True)
class _BrokerAssembly:
    """The parts of a broker, started in order."""

    settings: DraySettings
    context: ProcessContext
    stores: Stores

    async def start(self, stopping: AsyncExitStack) -> Broker:
        context = self.context
        metrics = NetMetrics.on(context.metrics)
        server = SocketServer(
            settings=self.settings.net, clock=context.clock, tasks=context.tasks, metrics=metrics
        )
        authentication = Authentication(self.settings.sasl, context)
        listeners = listeners_of(self.settings, context.clock, authentication.gate)
        authenticator: Authenticator | None = None
        async with AsyncExitStack() as failing:
            failing.push_async_callback(server.stop)  # frees the addresses if the rest fails
            bound = {one.name: Address(one.host, await server.bind(one)) for one in listeners.specs}
            names = self._names()
            async with self._log_if_slow(
                f"the stores {names.metadata} and {names.objects} do not respond",
                "check their URLs and that they are reachable",
            ):
                identity = await self._claim(names)
                info = await self._info(listeners, bound)
            stopping.enter_context(logged_fields(broker=info.broker_id))
            configs = listeners.configs(bound, self.settings.tls)
            services, registration = await self._registered(info, configs, identity, stopping)
            if listeners.authenticate:
                authenticator = await authentication.open(self.stores, services, stopping)
            server.limit_addresses(services.quotas.connection_rate_of)
            dispatcher = Dispatcher(services, ApiMetrics.on(context.metrics))
            await server.serve(dispatcher)
            failing.pop_all()
        stopping.push_async_callback(server.stop)
        if listeners.contexts is not None:
            self._reload(listeners.contexts, metrics)
        supersession = Supersession(self.stores.objects, identity, names)
        start_sweeps(
            self.settings,
            self.stores,
            context,
            services,
            domains=identity.domains,
            supersession=supersession,
        )
        start_backups(
            self.settings, self.stores, context, stopping, is_mine=partial(_is_first, info, services.routing)
        )
        context.metrics.add_process()
        http = await serve_http(
            self.settings,
            context,
            self.stores,
            stopping,
            access=http_access(self.settings, services, authentication, authenticator),
            tls=listeners.http_tls,
            metrics=metrics,
        )
        departure = Departure(
            services.routing,
            registration,
            dispatcher.drain,
            lambda: server.connections,
            context.clock,
            self.settings.broker.drain_ms,
        )
        stopping.push_async_callback(departure.leave)
        return Broker(info, written(bound), http, services, supersession)

    async def _registered(
        self,
        info: BrokerInfo,
        configs: Mapping[str, str],
        identity: ClusterIdentity,
        stopping: AsyncExitStack,
    ) -> tuple[Services, Registration]:
        """Start everything that answers requests, and register this broker in the cluster."""
        assembly = ServicesAssembly(self.settings, self.context, self.stores, identity)
        log = await assembly.log(stopping)
        ttl_ms = self.settings.metadata.session_ttl_ms
        registration = Registration(self.stores.meta, info, ttl_ms=ttl_ms, clock=self.context.clock)
        services = await assembly.services(log, info, configs, registration)
        stopping.push_async_callback(services.threads.stop)
        async with self._log_if_slow(
            f"broker id {info.broker_id} may still be registered by another process",
            "stop it, or choose another --broker-id",
        ):
            await registration.start(self.context.tasks)
        stopping.push_async_callback(registration.stop)
        return services, registration

    def _reload(self, contexts: TlsContexts, metrics: NetMetrics) -> None:
        """Read certificates again when they change, until the broker stops."""
        metrics.certificate_expires.set_function(lambda: contexts.expires_at_s)
        seconds, clock = self.settings.tls.reload_interval_ms / 1000, self.context.clock
        self.context.tasks.every(seconds, contexts.reload, name="reload-certificates", clock=clock)

    async def _info(self, listeners: Listeners, bound: Mapping[str, Address]) -> BrokerInfo:
        """Describe this broker, with the id that its first advertised address has in the cluster."""
        broker = self.settings.broker
        endpoints = listeners.endpoints(bound)
        first = Address(endpoints[0].host, endpoints[0].port)
        broker_id = await claim_broker_id(self.stores.meta, broker.id, first)
        started_ms = self.context.clock.now_ms()
        return BrokerInfo(broker_id, *first, broker.zone, started_ms, __version__, endpoints)

    def _log_if_slow(self, reason: str, remedy: str) -> AbstractAsyncContextManager[None]:
        return log_if_slow(reason, remedy, self.context.clock, self.context.tasks)

    def _names(self) -> StoreNames:
        return StoreNames(self.settings.metadata.url, self.settings.storage.url)

    async def _claim(self, names: StoreNames) -> ClusterIdentity:
        return await claim(
            self.stores.meta,
            self.stores.objects,
            cluster_id=self.settings.cluster.id,
            domains=self.settings.cluster.domains,
            domains_if_new=domains_of_new_cluster(self.settings.metadata.url),
            clock=self.context.clock,
            entropy=self.context.entropy,
            names=names,
        )


def _is_first(me: BrokerInfo, routing: Routing) -> bool:
    """Return whether this broker has the lowest id of those that are alive."""
    return all(me.broker_id < other.broker_id for other in routing.others())
