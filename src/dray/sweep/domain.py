"""All sweeps of one domain, assembled once for brokers, `dray gc run` and the simulation."""

from collections.abc import AsyncIterator
from typing import Final

from dray.ids import MetaDomain
from dray.log import LogSettings, Trimmer
from dray.log.bulk_commit import LoadDeps
from dray.meta.port import MetaStore
from dray.objects.port import ObjectStore
from dray.runtime import Clock
from dray.sweep.files import FileSweep
from dray.sweep.loads import LoadSweep
from dray.sweep.plan import PendingDeletion
from dray.sweep.retention import PolicyOf, Retention, Trim
from dray.sweep.wal import WalSweep

_LOADS_PATIENCE_S: Final = 10.0
"""Time limit for completing a load; the next sweep continues."""


class DomainSweep:
    """Retention and garbage collection of one domain."""

    def __init__(
        self,
        meta: MetaStore,
        objects: ObjectStore,
        domain: MetaDomain,
        *,
        domains: int,
        clock: Clock,
        settings: LogSettings,
        policy_of: PolicyOf,
    ) -> None:
        trimmer = Trimmer(meta, domain, clock, settings)
        self._retention = Retention(meta, domain, trimmer, clock, policy_of)
        self._files = FileSweep(
            meta,
            objects,
            domain,
            domains=domains,
            clock=clock,
            orphan_ttl_ms=settings.orphan_ttl_ms,
        )
        load_deps = LoadDeps(meta, objects, domains, clock, settings, retry_budget_s=_LOADS_PATIENCE_S)
        self._loads = LoadSweep(load_deps, domain)
        self._wal = WalSweep(meta, objects, domain, clock, settings.orphan_ttl_ms)

    async def run(self) -> None:
        """Apply retention and delete unreferenced objects; meant to run about once a minute."""
        await self._retention.run()
        await self._wal.run()
        await self._files.run()
        await self._loads.run()

    def trims(self) -> AsyncIterator[Trim]:
        """Return the ranges that `run` expires, without expiring them."""
        return self._retention.plan()

    async def pending_deletions(self) -> AsyncIterator[PendingDeletion]:
        """Return the objects that `run` and `run_strays` delete; lists the whole bucket."""
        plans = (self._wal.plan(), self._files.plan(), self._loads.plan())
        for plan in (*plans, self._wal.plan_strays(), self._files.plan_strays()):
            async for pending in plan:
                yield pending

    def waiting(self) -> AsyncIterator[str]:
        """Return the released files that cannot be deleted until a compactor has checked their table."""
        return self._files.waiting()

    async def run_retention(self) -> None:
        """Do only the retention part of `run`."""
        await self._retention.run()

    async def run_strays(self) -> None:
        """Delete objects that no record names; lists the whole bucket, so meant to run every few hours."""
        await self._wal.run_strays()
        await self._files.run_strays()
