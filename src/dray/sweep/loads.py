"""Brings bulk loads to their end when whoever began them does not.

A load that is under way is left alone, however long ago its objects were written, until the time it asked for
is over. Then it is condemned, which its commit checks, and only then are its objects deleted. One that was
decided on and not finished, because its driver died between two domains, is finished. What is committed
is forgotten after its time. `index.loads` says which record may turn into what, and why the home decides.
"""

from collections.abc import AsyncIterator
from functools import partial
from typing import Final

from dray.ids import MetaDomain
from dray.index import CorruptValue
from dray.index.loads import LoadState, decode_load, load_folder, load_of_key, loads_range, manifest_path
from dray.log import LogError
from dray.log.bulk import Loads
from dray.log.bulk_commit import LoadParts
from dray.log.load_records import LoadRecords, StoredLoad, store_domain
from dray.meta.port import Entry
from dray.meta.scans import scan_all
from dray.objects.port import ObjectError
from dray.observe import get_logger
from dray.sweep.doomed import Doomed, Why

UNFINISHED_MS: Final = 60_000
"""A load that has been publishing for so long is taken for abandoned. If it is not, two do the same work."""
_log = get_logger("sweep")


class LoadSweep:
    """Sweeps the loads of one domain."""

    def __init__(self, parts: LoadParts, domain: MetaDomain) -> None:
        self._parts = parts
        self._domain = domain
        self._loads = Loads(parts)
        self._records = LoadRecords(parts.meta, parts.clock)

    async def run(self) -> None:
        """Look at every load; one that makes trouble is told of and left for the next time."""
        bounds = loads_range(self._domain)
        async for found in scan_all(self._parts.meta, store_domain(self._domain), bounds):
            try:
                await self._sweep(found)
            except (CorruptValue, LogError, ObjectError) as error:
                _log.warning("load_not_swept", domain=self._domain, key=found.key, error=str(error))

    async def plan(self) -> AsyncIterator[Doomed]:
        """Say which objects of loads `run` deletes."""
        bounds = loads_range(self._domain)
        async for found in scan_all(self._parts.meta, store_domain(self._domain), bounds):
            try:
                stored = self._stored(found)
                folder = await self._doomed_folder(stored)
            except CorruptValue as error:
                _log.warning("load_not_swept", domain=self._domain, key=found.key, error=str(error))
                continue
            paths = [] if folder is None else [info.path async for info in self._parts.objects.list(folder)]
            for path in paths:
                yield Doomed(path, Why.LOAD, partial(self._swept, found))

    async def _doomed_folder(self, stored: StoredLoad) -> str | None:
        load = stored.load
        if self._domain != load.home:
            over = load.is_under_way and await self._is_over_at_home(stored)
            return load_folder(stored.load_id, self._domain) if over else None
        expired = load.state is LoadState.OPEN and load.expires_at_ms <= self._parts.clock.now_ms()
        return load_folder(stored.load_id) if expired or load.state is LoadState.CONDEMNED else None

    async def _swept(self, found: Entry) -> bool:
        """Sweep the whole load; who comes for its next object finds it done."""
        return await self._sweep(found)

    def _stored(self, found: Entry) -> StoredLoad:
        return StoredLoad(
            load_of_key(found.key), self._domain, decode_load(found.key, found.value), found.version
        )

    async def _is_over_at_home(self, stored: StoredLoad) -> bool:
        home = await self._records.read(stored.load.home, stored.load_id)
        return home is None or home.load.state is LoadState.CONDEMNED

    async def _sweep(self, found: Entry) -> bool:
        """Take a load a step further; returns whether its objects are gone."""
        stored = self._stored(found)
        load = stored.load
        if self._domain != load.home:
            return await self._follow_home(stored)
        if load.state is LoadState.PUBLISHING:
            if load.changed_at_ms <= self._parts.clock.now_ms() - UNFINISHED_MS:
                await self._loads.finish(stored.load_id, load)
        elif load.state is LoadState.CONDEMNED or load.expires_at_ms <= self._parts.clock.now_ms():
            return await self._end(stored)
        return False

    async def _end(self, stored: StoredLoad) -> bool:
        if stored.load.state is LoadState.COMMITTED:
            await self._parts.objects.delete(manifest_path(stored.load_id))
            await self._records.forget(stored)
            return False
        if not await self._loads.give_up(stored.load_id, stored.load):
            return False
        _log.info("load_given_up", topic=stored.load.topic.name, load=stored.load_id.hex())
        return True

    async def _follow_home(self, stored: StoredLoad) -> bool:
        """Remove a record whose load is over; an open one without a home was never begun, or given up."""
        if not await self._is_over_at_home(stored):
            return False
        if stored.load.is_under_way:
            folder = load_folder(stored.load_id, self._domain)
            doomed = [info.path async for info in self._parts.objects.list(folder)]
            for path in doomed:
                await self._parts.objects.delete(path)
        await self._records.forget(stored)
        return True
