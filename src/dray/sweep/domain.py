"""Everything that is swept in one domain, put together once for the broker and for the simulation."""

from collections.abc import AsyncIterator
from typing import Final

from dray.ids import MetaDomain
from dray.index import domain_name
from dray.log import LogSettings, Trimmer
from dray.log.bulk_commit import LoadParts
from dray.meta.port import Domain, MetaStore
from dray.objects.port import ObjectStore
from dray.runtime import Clock
from dray.sweep.doomed import Doomed
from dray.sweep.files import FileSweep
from dray.sweep.loads import LoadSweep
from dray.sweep.retention import PolicyOf, Retention, Trim
from dray.sweep.wal import WalSweep

_LOADS_PATIENCE_S: Final = 10.0
"""The next sweep goes on with it."""


class DomainSweep:
    """Retention, garbage and orphans of one domain."""

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
        trimmer = Trimmer(meta, Domain(domain_name(domain)), domain, clock, settings)
        self._retention = Retention(meta, domain, trimmer, clock, policy_of)
        self._files = FileSweep(
            meta,
            objects,
            domain,
            domains=domains,
            clock=clock,
            orphan_ttl_ms=settings.wal_orphan_ttl_ms,
        )
        load_parts = LoadParts(meta, objects, domains, clock, settings, patience_s=_LOADS_PATIENCE_S)
        self._loads = LoadSweep(load_parts, domain)
        self._wal = WalSweep(meta, objects, domain, clock, settings.wal_orphan_ttl_ms)

    async def run(self) -> None:
        """Give up what is too old or too much, and delete what nothing points to; for every minute or so."""
        await self._retention.run()
        await self._wal.run()
        await self._files.run()
        await self._loads.run()

    def trims(self) -> AsyncIterator[Trim]:
        """Say what `run` gives up of streams, without doing it."""
        return self._retention.plan()

    async def doomed(self) -> AsyncIterator[Doomed]:
        """Say what `run` and `run_strays` delete, without doing it: lists the whole bucket."""
        plans = (self._wal.plan(), self._files.plan(), self._loads.plan())
        for plan in (*plans, self._wal.plan_strays(), self._files.plan_strays()):
            async for doomed in plan:
                yield doomed

    def waiting(self) -> AsyncIterator[str]:
        """Say which given-up files are there only because no compactor has compared them with their table."""
        return self._files.waiting()

    async def run_retention(self) -> None:
        """Do the part of `run` that gives up what is too old or too much."""
        await self._retention.run()

    async def run_strays(self) -> None:
        """Delete what is in no record; lists the whole bucket, so for every few hours."""
        await self._wal.run_strays()
        await self._files.run_strays()
