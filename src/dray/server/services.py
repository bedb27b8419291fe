"""Assembly of the log and the services that answer the requests of a broker."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Final

from dray.api.audit import AuditLog
from dray.api.fetch_sessions import FetchSessions
from dray.api.metrics import FetchSessionMetrics
from dray.api.services import Services
from dray.cluster import ClusterIdentity
from dray.cluster.acl_admin import AclAdmin
from dray.cluster.acls import AclView
from dray.cluster.brokers import BrokerInfo, LiveBrokers, Registration
from dray.cluster.group_configs import GroupConfigs
from dray.cluster.producer_ids import ProducerIds
from dray.cluster.quotas import ClientQuotas
from dray.cluster.routing import Routing
from dray.cluster.topic_admin import TopicAdmin
from dray.cluster.topics import TopicCatalog
from dray.cluster.users import Users
from dray.coordinators import BrokerTopicsImage, CoordinatorDeps, GroupCoordinator, GroupMetrics, LagMeter
from dray.log import Log, LogDeps, LogMetrics
from dray.log.log import LogStreams
from dray.runtime import Threads
from dray.server.stores import ProcessContext, Stores, encode_group
from dray.settings import DraySettings

_PARQUET_THREADS: Final = 2


@dataclass(frozen=True, slots=True)
class ServicesAssembly:
    """The parts of a broker that do the work of its requests."""

    settings: DraySettings
    context: ProcessContext
    stores: Stores
    identity: ClusterIdentity

    async def log(self, stopping: AsyncExitStack) -> Log:
        """Start the log, which is flushed and closed at the stop."""
        threads = Threads("parquet", _PARQUET_THREADS)
        stopping.push_async_callback(threads.stop)
        context = self.context
        log = Log(
            LogDeps(
                self.stores.meta,
                self.stores.objects,
                context.clock,
                context.entropy,
                context.tasks,
                self.settings.log,
                LogMetrics.on(context.metrics),
                zone=self.settings.broker.zone or "none",
                domains=self.identity.domains,
                encode_group=partial(encode_group, threads),
            )
        )
        await log.start()
        stopping.push_async_callback(log.close)
        return log

    async def services(
        self, log: Log, info: BrokerInfo, configs: Mapping[str, str], registration: Registration
    ) -> Services:
        """Start the services, which follow the metadata store from now on."""
        meta, context = self.stores.meta, self.context
        topics = TopicCatalog(meta, context.clock)
        await topics.start(context.tasks)
        brokers = LiveBrokers(meta, context.clock)
        await brokers.start(context.tasks)
        group_configs = GroupConfigs(meta, self.settings.groups, context.clock)
        await group_configs.start(context.tasks)
        quotas = ClientQuotas(meta, context.clock)
        await quotas.start(context.tasks)
        acls = await self._acls()
        users = Users(meta, context.clock)
        await users.start(context.tasks)
        group_metrics = GroupMetrics.on(context.metrics)
        groups = GroupCoordinator(
            CoordinatorDeps(
                info.broker_id,
                meta,
                self.identity.domains,
                brokers,
                BrokerTopicsImage(topics),
                group_configs.limits_of,
                context.clock,
                context.tasks,
                group_metrics,
                is_registered=lambda: registration.alive,
            )
        )
        await groups.start()
        self._start_lag(LagMeter(groups, topics, log.recent_head, group_metrics, context.clock))
        return Services(
            cluster_id=self.identity.cluster_id,
            me=info,
            log=log,
            topics=topics,
            topic_admin=TopicAdmin(topics, meta, LogStreams(log), context.clock, context.entropy),
            routing=Routing(brokers, info, self.settings.routing),
            producer_ids=ProducerIds(meta),
            groups=groups,
            group_configs=group_configs,
            quotas=quotas,
            users=users,
            fetch_sessions=FetchSessions(
                self.settings.kafka,
                context.entropy,
                context.clock.monotonic,
                FetchSessionMetrics.on(context.metrics),
            ),
            audit=AuditLog(context.clock),
            settings=self.settings.kafka,
            clock=context.clock,
            entropy=context.entropy,
            acls=acls,
            acl_admin=None if acls is None else AclAdmin(acls, meta),
            listener_configs=configs,
            log_dir=self.settings.storage.url,
        )

    async def _acls(self) -> AclView | None:
        """Read the ACLs of the cluster; None if there is no authorizer."""
        if not self.settings.security.authorizer_enable:
            return None
        acls = AclView(self.stores.meta, self.settings.security, self.context.clock)
        await acls.start(self.context.tasks)
        return acls

    def _start_lag(self, meter: LagMeter) -> None:
        interval_ms = self.settings.groups.lag_interval_ms
        if interval_ms:
            tasks, clock = self.context.tasks, self.context.clock
            tasks.every(interval_ms / 1000, meter.measure, name="measure-lag", clock=clock)
