"""Full sweep as if a day had passed, for when no other process is running."""

import asyncio
from dataclasses import dataclass

from dray.cluster import StoreNames, find
from dray.compaction.metrics import CompactionMetrics
from dray.compaction.settings import CompactionSettings
from dray.compaction.topic_tables import table_of
from dray.ids import MetaDomain, TopicRef
from dray.log import LogSettings
from dray.maintenance.file_reference_check import FileReferenceCheck
from dray.maintenance.snapshot_expiry import SnapshotExpiry
from dray.observe import Metrics
from dray.runtime import SystemClock, SystemEntropy
from dray.server.catalog import open_tables
from dray.server.stores import Stores, open_stores, process_context
from dray.settings import DraySettings
from dray.sweep import DomainSweep, RetentionPolicy
from dray.tables.iceberg import IcebergTables
from tests.chaos.compaction.topic_state import TopicState

_DAY_MS = 24 * 60 * 60 * 1000


class TomorrowClock(SystemClock):
    """A clock one day ahead: every grace period has passed."""

    def now_ms(self) -> int:
        return super().now_ms() + _DAY_MS


@dataclass(frozen=True, slots=True)
class Swept:
    """The objects in the store after a sweep, and those the table references."""

    stored: frozenset[str]
    referenced: frozenset[str]


def stored_paths(settings: DraySettings) -> frozenset[str]:
    """Return the paths of all objects in the store."""
    return asyncio.run(_listed(settings))


def sweep_all(settings: DraySettings, state: TopicState) -> Swept:
    return asyncio.run(_sweep_all(settings, state))


async def _listed(settings: DraySettings) -> frozenset[str]:
    async with open_stores(settings, process_context()) as stores:
        return await _paths(stores)


async def _sweep_all(settings: DraySettings, state: TopicState) -> Swept:
    table = table_of(TopicRef(state.topic.name, state.topic.topic_id))
    async with open_stores(settings, process_context()) as stores:
        names = StoreNames(settings.metadata.url, settings.storage.url)
        identity = await find(stores.meta, stores.objects, names)
        assert identity is not None
        tables = open_tables(
            settings.tables, settings.storage, identity.cluster_id, TomorrowClock(), SystemEntropy()
        )
        try:
            references = FileReferenceCheck(
                stores.meta, tables, TomorrowClock(), LogSettings(), identity.domains
            )
            await references.run()
            for number in range(identity.domains):
                sweep = DomainSweep(
                    stores.meta,
                    stores.objects,
                    MetaDomain(number),
                    domains=identity.domains,
                    clock=TomorrowClock(),
                    settings=LogSettings(orphan_ttl_ms=0),
                    policy_of=lambda _: RetentionPolicy(),
                )
                await sweep.run()
                await sweep.run_strays()
            expiry = _snapshot_expiry(stores, tables)
            expiry.set_listing(await tables.listing())
            await expiry.expire(table)
            await expiry.sweep(table)
            return Swept(await _paths(stores), await tables.reachable(table))
        finally:
            await tables.close()


def _snapshot_expiry(stores: Stores, tables: IcebergTables) -> SnapshotExpiry:
    settings = CompactionSettings(snapshot_age_ms_max=0, table_orphan_ttl_ms=0)
    return SnapshotExpiry(tables, stores.objects, TomorrowClock(), settings, CompactionMetrics.on(Metrics()))


async def _paths(stores: Stores) -> frozenset[str]:
    return frozenset([info.path async for info in stores.objects.list("")])
