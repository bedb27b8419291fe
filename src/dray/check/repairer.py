"""Execution of repairs: one commit each, or one deletion by the sweep, which checks before it deletes."""

from dataclasses import dataclass

from dray.check.bucket import Bucket
from dray.check.deps import CheckDeps
from dray.check.findings import Finding
from dray.check.object_findings import OverdueDeletion, Stray
from dray.check.repair_plan import RepairContext, plan_repair
from dray.index import CorruptValue
from dray.keyspace import meta_domain_of
from dray.meta.port import Conflict
from dray.objects.port import ObjectError


@dataclass(frozen=True, slots=True)
class Repaired:
    """The outcome of one repair."""

    done: bool
    what: str


class Repairer:
    """Repairs findings, one at a time. It may be interrupted anywhere: each repair happens or does not."""

    def __init__(self, deps: CheckDeps) -> None:
        self._deps = deps
        self._bucket = Bucket(deps)

    def can_repair(self, finding: Finding) -> bool:
        """Return whether there is a repair, which may still be refused because something has changed."""
        if isinstance(finding, Stray | OverdueDeletion):
            return not finding.held
        return plan_repair(finding, self._context()) is not None

    async def repair(self, finding: Finding) -> Repaired | None:
        """Repair a finding; returns None if that is not possible."""
        if not self.can_repair(finding):
            return None
        if isinstance(finding, Stray | OverdueDeletion):
            return await self._sweep(finding)
        planned = plan_repair(finding, self._context())
        if planned is None:
            return None
        result = await self._deps.meta.commit(planned.domain, planned.checks, planned.writes)
        if isinstance(result, Conflict):
            return Repaired(done=False, what="it has changed meanwhile: check again")
        return Repaired(done=True, what=planned.what)

    async def _sweep(self, finding: Stray | OverdueDeletion) -> Repaired:
        try:
            if isinstance(finding, Stray):
                pending = await self._bucket.deletion_of_stray(finding)
            else:
                domain = meta_domain_of(finding.domain)
                assert domain is not None
                pending = await self._bucket.deletion_of_marked(domain, finding.kind, finding.checks[0].key)
            done = pending is not None and await pending.delete()
        except (CorruptValue, ObjectError) as error:
            return Repaired(done=False, what=str(error))
        return Repaired(done, "deleted it" if done else "it must not be deleted yet")

    def _context(self) -> RepairContext:
        return RepairContext(self._deps.clock.now_ms(), self._deps.settings, self._deps.meta.limits)
