"""Everything that is swept in one domain, put together once for the broker and for the simulation."""

from dray.ids import MetaDomain
from dray.index import domain_name
from dray.log import LogSettings, Trimmer
from dray.meta.port import Domain, MetaStore
from dray.objects.port import ObjectStore
from dray.runtime import Clock
from dray.sweep.files import FileSweep
from dray.sweep.retention import PolicyOf, Retention
from dray.sweep.wal import WalSweep


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
        self._wal = WalSweep(meta, objects, domain, clock, settings.wal_orphan_ttl_ms)

    async def run(self) -> None:
        """Give up what is too old or too much, and delete what nothing points to; for every minute or so."""
        await self._retention.run()
        await self._wal.run()
        await self._files.run()

    async def run_strays(self) -> None:
        """Delete what is in no record; lists the whole bucket, so for every few hours."""
        await self._wal.run_strays()
        await self._files.run_strays()
