"""Sweep of bulk loads whose driver died.

A load in progress is left alone until it expires, however old its objects are. It is then condemned, which
its commit checks, and only then are its objects deleted. A load whose commit was decided and not completed,
because its driver died between two domains, is completed. The record of a committed load is removed when it
expires. `index.loads` defines the states of the records, and why the home domain decides.
"""

from collections.abc import AsyncIterator
from functools import partial
from typing import Final

from dray.ids import MetaDomain
from dray.index import CorruptValue
from dray.index.loads import LoadState, decode_load, load_folder, manifest_path
from dray.keyspace import load_of_key, loads_range
from dray.log import LogError
from dray.log.bulk import Loads
from dray.log.bulk_commit import LoadDeps
from dray.log.load_records import LoadRecords, StoredLoad, store_domain
from dray.meta.port import Entry
from dray.meta.reading import scan_all
from dray.objects.port import ObjectError
from dray.observe import get_logger
from dray.sweep.plan import PendingDeletion, Reason

UNFINISHED_MS: Final = 60_000
"""A load that has been publishing for this long counts as abandoned; if it is only slow, work is repeated."""
_log = get_logger("sweep")


class LoadSweep:
    """Sweeps the loads of one domain."""

    def __init__(self, deps: LoadDeps, domain: MetaDomain) -> None:
        self._deps = deps
        self._domain = domain
        self._loads = Loads(deps)
        self._records = LoadRecords(deps.meta, deps.clock)

    async def run(self) -> None:
        """Sweep every load; one that fails is logged and retried by the next sweep."""
        bounds = loads_range(self._domain)
        async for found in scan_all(self._deps.meta, store_domain(self._domain), bounds):
            try:
                await self._sweep(found)
            except (CorruptValue, LogError, ObjectError) as error:
                _log.warning("load_sweep_failed", domain=self._domain, key=found.key, error=str(error))

    async def plan(self) -> AsyncIterator[PendingDeletion]:
        """Return the objects of loads that `run` deletes."""
        bounds = loads_range(self._domain)
        async for found in scan_all(self._deps.meta, store_domain(self._domain), bounds):
            try:
                stored = self._stored(found)
                folder = await self._expired_folder(stored)
            except CorruptValue as error:
                _log.warning("load_sweep_failed", domain=self._domain, key=found.key, error=str(error))
                continue
            paths = [] if folder is None else [info.path async for info in self._deps.objects.list(folder)]
            for path in paths:
                yield PendingDeletion(path, Reason.LOAD, partial(self._swept, found))

    async def _expired_folder(self, stored: StoredLoad) -> str | None:
        """Return the folder of objects to delete, or None if the load is in progress or committed."""
        load = stored.load
        if self._domain != load.home:
            ended = load.is_under_way and await self._ended_at_home(stored)
            return load_folder(stored.load_id, self._domain) if ended else None
        expired = load.state is LoadState.OPEN and load.expires_at_ms <= self._deps.clock.now_ms()
        return load_folder(stored.load_id) if expired or load.state is LoadState.CONDEMNED else None

    async def _swept(self, found: Entry) -> bool:
        """Sweep the whole load; deleting its other objects then finds nothing left to do."""
        return await self._sweep(found)

    def _stored(self, found: Entry) -> StoredLoad:
        return StoredLoad(
            load_of_key(found.key), self._domain, decode_load(found.key, found.value), found.version
        )

    async def _ended_at_home(self, stored: StoredLoad) -> bool:
        home = await self._records.read(stored.load.home, stored.load_id)
        return home is None or home.load.state is LoadState.CONDEMNED

    async def _sweep(self, found: Entry) -> bool:
        """Advance a load by one step; returns whether its objects were deleted."""
        stored = self._stored(found)
        load = stored.load
        if self._domain != load.home:
            return await self._follow_home(stored)
        if load.state is LoadState.PUBLISHING:
            if load.changed_at_ms <= self._deps.clock.now_ms() - UNFINISHED_MS:
                await self._loads.finish(stored.load_id, load)
        elif load.state is LoadState.CONDEMNED or load.expires_at_ms <= self._deps.clock.now_ms():
            return await self._end(stored)
        return False

    async def _end(self, stored: StoredLoad) -> bool:
        if stored.load.state is LoadState.COMMITTED:
            await self._deps.objects.delete(manifest_path(stored.load_id))
            await self._records.forget(stored)
            return False
        if not await self._loads.abort(stored.load_id, stored.load):
            return False
        _log.info("load_aborted", topic=stored.load.topic.name, load=stored.load_id.hex())
        return True

    async def _follow_home(self, stored: StoredLoad) -> bool:
        """Remove the record of an ended load; one without a home record never began or was aborted."""
        if not await self._ended_at_home(stored):
            return False
        if stored.load.is_under_way:
            folder = load_folder(stored.load_id, self._domain)
            paths = [info.path async for info in self._deps.objects.list(folder)]
            for path in paths:
                await self._deps.objects.delete(path)
        await self._records.forget(stored)
        return True
