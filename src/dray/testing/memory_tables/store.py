"""In-memory adapter of the tables port.

Unlike the Iceberg adapter it does not resolve unknown outcomes itself, so that tests see them.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeVar

from dray.runtime import Clock
from dray.tables.port import (
    ANY_SNAPSHOT,
    Committed,
    Conflict,
    DataFile,
    Expired,
    Job,
    Listing,
    OutcomeUnknown,
    TableState,
    TopicTable,
    Unavailable,
)
from dray.testing.memory_tables.catalog import MemoryCatalog
from dray.testing.memory_tables.faults import Faults, NoFaults

T = TypeVar("T")
_READS: Final = frozenset({"check", "current", "snapshot_id", "find_job", "reachable", "listing", "folder"})


class MemoryTables:
    """One client; with a clock, request and response each take `travel_s`."""

    def __init__(
        self,
        catalog: MemoryCatalog,
        faults: Faults | None = None,
        clock: Clock | None = None,
        travel_s: float = 0.0,
    ) -> None:
        self._catalog = catalog
        self._faults = faults or NoFaults()
        self._clock = clock
        self._travel_s = travel_s

    async def create_if_missing(self, table: TopicTable, folder: str) -> None:
        await self._call("create_if_missing", table, partial(self._catalog.create_if_missing, table, folder))

    async def folder(self, table: TopicTable) -> str:
        return await self._call("folder", table, partial(self._catalog.folder, table))

    async def check(self, table: TopicTable) -> None:
        await self._call("check", table, partial(self._catalog.check, table))

    async def snapshot_id(self, table: TopicTable) -> int | None:
        return await self._call("snapshot_id", table, partial(self._catalog.snapshot_id, table))

    async def append(
        self,
        table: TopicTable,
        files: Sequence[DataFile],
        job: Job,
        expected_snapshot_id: int | None = ANY_SNAPSHOT,
    ) -> Committed:
        change = partial(self._catalog.append, table, tuple(files), job, expected_snapshot_id)
        return await self._call("append", table, change)

    async def replace(
        self,
        table: TopicTable,
        removed: Sequence[str],
        added: Sequence[DataFile],
        job: Job,
        expected_snapshot_id: int | None = ANY_SNAPSHOT,
    ) -> Committed:
        change = partial(
            self._catalog.replace, table, tuple(removed), tuple(added), job, expected_snapshot_id
        )
        return await self._call("replace", table, change)

    async def current(self, table: TopicTable) -> TableState:
        return await self._call("current", table, partial(self._catalog.current, table))

    async def find_job(self, table: TopicTable, job: Job) -> Committed | None:
        return await self._call("find_job", table, partial(self._catalog.find_job, table, job))

    async def expire(self, table: TopicTable, older_than_ms: int) -> Expired:
        return await self._call("expire", table, partial(self._catalog.expire, table, older_than_ms))

    async def reachable(self, table: TopicTable, *, data: bool = True) -> frozenset[str]:
        return await self._call("reachable", table, partial(self._catalog.reachable, table, data=data))

    async def drop(self, table: TopicTable) -> bool:
        return await self._call("drop", table, partial(self._catalog.drop, table))

    async def listing(self) -> Listing:
        return await self._call("listing", None, self._catalog.listing)

    async def close(self) -> None:
        """Holds nothing to release."""

    async def _call(self, name: str, table: TopicTable | None, request: Callable[[], T]) -> T:
        fault, reads = self._faults.draw(name), name in _READS
        await self._travel()
        if fault == "refuse" or (reads and fault in ("lost_request", "lost_answer")):
            raise Unavailable(f"{name}: simulated fault ({fault})")
        if fault == "lost_request":
            raise OutcomeUnknown(f"{name}: simulated fault ({fault})")
        if fault == "conflict" and not reads:
            raise Conflict(f"{name}: simulated fault ({fault})")
        if fault == "dropped" and table is not None:
            self._catalog.external_drop(table)
        answer = request()
        await self._travel()
        if fault == "lost_answer":
            raise OutcomeUnknown(f"{name}: simulated fault ({fault})")
        return answer

    async def _travel(self) -> None:
        if self._clock is not None and self._travel_s:
            await self._clock.sleep(self._travel_s)
