"""A check of an existing cluster, by its stores and without a broker."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dray.check.deps import CheckDeps, Owner, Progress
from dray.check.findings import Finding
from dray.check.repairer import Repaired, Repairer
from dray.check.run import ClusterCheck
from dray.cluster.topics import Topic
from dray.ids import StreamId
from dray.runtime import LazyModule
from dray.scan.access import OpenCluster
from dray.server.errors import require
from dray.server.store_urls import SQLITE
from dray.settings import DraySettings
from dray.tables.port import Tables

if TYPE_CHECKING:
    from dray.server import catalog
else:  # Iceberg's libraries, which may not be installed; checked before use
    catalog = LazyModule("dray.server.catalog")

_MODULES: Final = ("numpy", "pyarrow", "pyiceberg")
OpenTables = Callable[[OpenCluster], Tables]
Take = Callable[[Finding, dict[StreamId, Owner], Repaired | None, bool], None]
"""Receives a finding, the owners of streams, the outcome of its repair, and whether there is a repair."""


async def check_cluster(
    cluster: OpenCluster,
    deps: CheckDeps,
    *,
    topics: Sequence[Topic],
    open_tables: OpenTables | None,
    repair: bool,
    take: Take,
) -> None:
    """Check these topics, or the whole cluster; pass each finding on as soon as it is confirmed."""
    repairer = Repairer(deps)
    async with AsyncExitStack() as stack:
        tables = None
        if open_tables is not None:
            tables = await stack.enter_async_context(_opened(open_tables, cluster))
        check = ClusterCheck(deps, tables)
        async for finding in check.run(topics):
            done = await repairer.repair(finding) if repair else None
            take(finding, check.owners.of, done, repairer.can_repair(finding))


def tables_to_check(settings: DraySettings) -> OpenTables | None:
    """Return how to open the catalog, or None if there is none; raises `ConfigurationError`."""
    path = settings.tables.catalog
    if path.startswith(SQLITE) and not Path(path.removeprefix(SQLITE)).exists():
        return None  # opening would create it
    require(_MODULES, "tables")
    return lambda cluster: catalog.open_tables(
        settings.tables, settings.storage, cluster.cluster_id, cluster.clock, cluster.entropy
    )


def check_deps(
    cluster: OpenCluster,
    settings: DraySettings,
    progress: Progress,
    report: Callable[[], None],
    *,
    deep: bool,
) -> CheckDeps:
    return CheckDeps(
        cluster.meta,
        cluster.objects,
        cluster.domains,
        cluster.clock,
        settings.log,
        deep=deep,
        progress=progress,
        report=report,
    )


@asynccontextmanager
async def _opened(open_tables: OpenTables, cluster: OpenCluster) -> AsyncIterator[Tables]:
    tables = open_tables(cluster)
    try:
        yield tables
    finally:
        await tables.close()
