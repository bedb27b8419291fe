"""A sweep of everything, as if a day had passed, for when no other process is at work."""

import asyncio
from dataclasses import dataclass

from dray.cli.catalog import open_tables
from dray.cli.settings import DraySettings
from dray.cli.wiring import Stores, open_stores, surroundings
from dray.cluster import StoreNames, find
from dray.ids import MetaDomain, TopicRef
from dray.log import LogSettings
from dray.observe import Metrics
from dray.pipeline.care.asking import Asking
from dray.pipeline.care.upkeep import Upkeep
from dray.pipeline.metrics import CompactionMetrics
from dray.pipeline.settings import CompactionSettings
from dray.pipeline.topic_tables import table_of
from dray.runtime import SystemClock, SystemEntropy
from dray.sweep import DomainSweep, RetentionPolicy
from dray.tables.iceberg import IcebergTables
from tests.chaos.compaction.sight import Sight

_DAY_MS = 24 * 60 * 60 * 1000


class Tomorrow(SystemClock):
    """Every grace is over."""

    def now_ms(self) -> int:
        return super().now_ms() + _DAY_MS


@dataclass(frozen=True, slots=True)
class Swept:
    """What is in the store after a sweep, and what the table still reaches there."""

    stored: frozenset[str]
    reached: frozenset[str]


def stored_paths(settings: DraySettings) -> frozenset[str]:
    """Return everything that is in the object store now."""
    return asyncio.run(_listed(settings))


def sweep_all(settings: DraySettings, sight: Sight) -> Swept:
    return asyncio.run(_sweep_all(settings, sight))


async def _listed(settings: DraySettings) -> frozenset[str]:
    async with open_stores(settings, surroundings()) as stores:
        return await _paths(stores)


async def _sweep_all(settings: DraySettings, sight: Sight) -> Swept:
    table = table_of(TopicRef(sight.topic.name, sight.topic.topic_id))
    async with open_stores(settings, surroundings()) as stores:
        names = StoreNames(settings.metadata.url, settings.storage.url)
        identity = await find(stores.meta, stores.objects, names)
        assert identity is not None
        tables = open_tables(
            settings.tables, settings.storage, identity.cluster_id, Tomorrow(), SystemEntropy()
        )
        try:
            asking = Asking(stores.meta, tables, Tomorrow(), LogSettings(), identity.domains)
            await asking.run()
            for number in range(identity.domains):
                sweep = DomainSweep(
                    stores.meta,
                    stores.objects,
                    MetaDomain(number),
                    domains=identity.domains,
                    clock=Tomorrow(),
                    settings=LogSettings(wal_orphan_ttl_ms=0),
                    policy_of=lambda _: RetentionPolicy(),
                )
                await sweep.run()
                await sweep.run_strays()
            upkeep = _upkeep(stores, tables)
            upkeep.see(await tables.listing())
            await upkeep.expire(table)
            await upkeep.sweep(table)
            return Swept(await _paths(stores), await tables.reachable(table))
        finally:
            await tables.close()


def _upkeep(stores: Stores, tables: IcebergTables) -> Upkeep:
    at_once = CompactionSettings(snapshot_age_ms_max=0, table_orphan_ttl_ms=0)
    return Upkeep(tables, stores.objects, Tomorrow(), at_once, CompactionMetrics.on(Metrics()))


async def _paths(stores: Stores) -> frozenset[str]:
    return frozenset([info.path async for info in stores.objects.list("")])
