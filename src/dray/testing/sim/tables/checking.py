"""The check of `dray check` in the simulation: it finds nothing wrong, however busy the cluster is.

While processes crash and stall, they leave garbage and unfinished work behind: those findings are no
violation. In the end there must be none at all, except for empty streams, which processes leave that died
while they created a topic.
"""

from collections.abc import AsyncIterator

from dray.check.deps import CheckDeps
from dray.check.findings import Finding, Severity
from dray.check.run import ClusterCheck
from dray.check.stream_findings import EmptyStream
from dray.meta.memory import MemoryMetaStore
from dray.objects.memory import MemoryObjects
from dray.runtime import Tasks
from dray.testing.clock import VirtualClock
from dray.testing.entropy import SeededEntropy
from dray.testing.faulty_link import FaultyLink, FaultyLinkSettings
from dray.testing.memory_tables import MemoryTables
from dray.testing.sim.history import History
from dray.testing.sim.tables.brokers import TableStores
from dray.testing.sim.tables.scenarios import SETTINGS

_LATE_MS = 60_000
_REST_S = 0.2
_KEYS_AT_ONCE = 3
"""So few that much changes while the index is read."""
_SLOW = FaultyLinkSettings(refused=0, request_lost=0, answer_lost=0, late=0, delay_ms=8.0)
_SERIOUS = (Severity.LOST, Severity.WRONG)


class CheckingProcess:
    """A process that checks the cluster over a slow but reliable connection."""

    def __init__(
        self, stores: TableStores, clock: VirtualClock, domains: int, *, objects_at_once: int
    ) -> None:
        assert stores.catalog is not None
        entropy = SeededEntropy("check")
        link = FaultyLink(entropy, _SLOW)
        self.checks = 0
        self._clock = clock
        self._tables = MemoryTables(stores.catalog)
        self._deps = CheckDeps(
            MemoryMetaStore(stores.meta, clock, entropy, tasks=Tasks(), link=link),
            MemoryObjects(stores.bucket),
            domains,
            clock,
            SETTINGS,
            deep=True,
            objects_at_once=objects_at_once,
            keys_at_once=_KEYS_AT_ONCE,
            overdue_ms=_LATE_MS,
            stuck_ms=_LATE_MS,
            pause_s=2.0,
        )

    def findings(self) -> AsyncIterator[Finding]:
        """Check once."""
        return ClusterCheck(self._deps, self._tables).run()

    async def run(self, history: History) -> None:
        """Check again and again; whatever is lost or wrong is a violation."""
        while True:
            async for finding in self.findings():
                if finding.severity in _SERIOUS:
                    history.violate(f"C1: {finding.severity}: {finding.what}: {finding}")
            self.checks += 1
            await self._clock.sleep(_REST_S)

    async def final(self) -> list[str]:
        """Check an idle cluster; returns all findings."""
        found = [one async for one in self.findings() if not isinstance(one, EmptyStream)]
        return [f"check: {one.severity}: {one.what}: {one}" for one in found]
