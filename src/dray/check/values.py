"""Values that nothing else of a check reads: bulk loads, hints of readers, times of reference checks."""

from collections.abc import AsyncIterator, Callable

from dray.check.deps import CheckDeps
from dray.check.findings import Finding
from dray.check.other_findings import Undecodable, UnfinishedLoad
from dray.ids import MetaDomain
from dray.index import CorruptValue
from dray.index.loads import Load, LoadState, decode_load
from dray.index.reference_checks import decode_checks
from dray.keyspace import load_of_key, loads_range, log_domain, missing_files_range, reference_check_key
from dray.log.missing import decode_missing
from dray.meta.port import Check, Entry
from dray.meta.reading import scan_all


class ValueCheck:
    """Decodes the values of one domain."""

    def __init__(self, deps: CheckDeps, domain: MetaDomain) -> None:
        self._deps = deps
        self._number = domain
        self._domain = log_domain(domain)

    async def run(self) -> AsyncIterator[Finding]:
        async for stored in scan_all(self._deps.meta, self._domain, loads_range(self._number)):
            finding = self._undecodable(stored, decode_load) or self._unfinished(stored)
            if finding is not None and await self._is_unchanged(stored):
                yield finding
        async for stored in scan_all(self._deps.meta, self._domain, missing_files_range(self._number)):
            finding = self._undecodable(stored, decode_missing)
            if finding is not None:
                yield finding
        checks = await self._deps.meta.get(self._domain, reference_check_key(self._number))
        finding = None if checks is None else self._undecodable(checks, decode_checks)
        if finding is not None:
            yield finding

    def _undecodable(self, stored: Entry, decode: Callable[[str, bytes], object]) -> Finding | None:
        try:
            decode(stored.key, stored.value)
        except CorruptValue as error:
            check = Check(stored.key, stored.version)
            return Undecodable(domain=self._domain, checks=(check,), key=stored.key, reason=str(error))
        return None

    def _unfinished(self, stored: Entry) -> Finding | None:
        load = decode_load(stored.key, stored.value)
        if self._number != load.home or self._due_ms(load) > self._deps.clock.now_ms():
            return None
        return UnfinishedLoad(
            domain=self._domain,
            checks=(Check(stored.key, stored.version),),
            load_id=load_of_key(stored.key),
            topic=load.topic,
            state=load.state,
        )

    def _due_ms(self, load: Load) -> int:
        """Return the time by which its driver or the sweep should have ended the load."""
        begun_ms = load.changed_at_ms if load.state is LoadState.PUBLISHING else load.expires_at_ms
        return begun_ms + self._deps.overdue_ms

    async def _is_unchanged(self, stored: Entry) -> bool:
        now = await self._deps.meta.get(self._domain, stored.key)
        return now is not None and now.version == stored.version
