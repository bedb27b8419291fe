"""Stores of the simulation: shared ones that report changes, and faulty connections to them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypeVar

from typing_extensions import Buffer

from dray.ids import Domain
from dray.meta.memory import MemoryMetaServer, ResponseLost
from dray.meta.port import Check, Conflict, Versions, Write
from dray.meta.port import Unavailable as MetaUnavailable
from dray.objects.memory import MemoryBucket
from dray.objects.port import ByteRange, NotFound, ObjectInfo, ObjectStore
from dray.runtime import Clock, Entropy
from dray.tables.port import (
    ANY_SNAPSHOT,
    Committed,
    DataFile,
    Job,
    OutcomeUnknown,
    TablesError,
    TopicTable,
    Unavailable,
)
from dray.testing.faulty_link import FaultyLink, FaultyLinkSettings
from dray.testing.memory_tables import MemoryCatalog, MemoryTables
from dray.testing.sim.tables.invariants import InvariantChecker

T = TypeVar("T")
_WRITES = frozenset({"create_if_missing", "append", "replace", "expire", "drop"})


class WatchedServer(MemoryMetaServer):
    """The metadata server; reports commits."""

    def __init__(self, clock: Clock, checker: InvariantChecker) -> None:
        super().__init__(clock)
        self._checker = checker

    def commit(
        self, commit_id: str, domain: Domain, checks: tuple[Check, ...], writes: tuple[Write, ...]
    ) -> Versions | Conflict:
        result = super().commit(commit_id, domain, checks, writes)
        if isinstance(result, Versions):
            self._checker.on_commit(writes)
        return result


class WatchedBucket(MemoryBucket):
    """The bucket; reports deletions and reads of missing objects."""

    def __init__(self, clock: Clock, checker: InvariantChecker) -> None:
        super().__init__(clock)
        self._checker = checker
        checker.read_file = self.get

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        try:
            return super().get_ranges(path, ranges)
        except NotFound:
            self._checker.counts.reads_not_found += 1
            raise

    def delete(self, path: str) -> None:
        if self.page(path, "", 1):
            self._checker.on_delete(path)
        super().delete(path)


class SlowReads:
    """Object store that delays each read of ranges by up to `seconds_max`, so that deletions overtake it."""

    def __init__(self, inner: ObjectStore, clock: Clock, entropy: Entropy, seconds_max: float) -> None:
        self._inner = inner
        self._clock = clock
        self._entropy = entropy
        self._seconds_max = seconds_max

    async def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        if self._seconds_max:
            await self._clock.sleep(self._entropy.uniform(0, self._seconds_max))
        return await self._inner.get_ranges(path, ranges)

    async def get(self, path: str) -> Buffer:
        return await self._inner.get(path)

    async def put_new(self, path: str, parts: Sequence[Buffer]) -> None:
        await self._inner.put_new(path, parts)

    async def head(self, path: str) -> ObjectInfo:
        return await self._inner.head(path)

    def list(self, prefix: str, after: str = "") -> AsyncIterator[ObjectInfo]:
        return self._inner.list(prefix, after)

    async def delete(self, path: str) -> None:
        await self._inner.delete(path)

    async def close(self) -> None:
        await self._inner.close()


class WatchedCatalog(MemoryCatalog):
    """The catalog; reports changes of tables."""

    def __init__(self, clock: Clock, checker: InvariantChecker) -> None:
        super().__init__(clock)
        self._checker = checker

    def append(
        self,
        table: TopicTable,
        files: Sequence[DataFile],
        job: Job,
        expected_snapshot_id: int | None = ANY_SNAPSHOT,
    ) -> Committed:
        known = {file.path for file in self.current(table).files}
        done = self._notify(table, super().append(table, files, job, expected_snapshot_id))
        if not done.repeated:
            self._checker.on_append(table, [file.path for file in files if file.path in known])
        return done

    def replace(
        self,
        table: TopicTable,
        removed: Sequence[str],
        added: Sequence[DataFile],
        job: Job,
        expected_snapshot_id: int | None = ANY_SNAPSHOT,
    ) -> Committed:
        return self._notify(table, super().replace(table, removed, added, job, expected_snapshot_id))

    def drop(self, table: TopicTable) -> bool:
        dropped = super().drop(table)
        self._checker.on_drop(table)
        return dropped

    def _notify(self, table: TopicTable, done: Committed) -> Committed:
        if not done.repeated:
            self._checker.on_table_commit(table, self.current(table).files)
        return done


class FaultyTables(MemoryTables):
    """Connection of one process to the catalog, which delays and loses requests, or delivers them late."""

    def __init__(
        self,
        catalog: MemoryCatalog,
        entropy: Entropy,
        faults: FaultyLinkSettings,
        before_commit: Callable[[], None],
    ) -> None:
        super().__init__(catalog)
        self._link = FaultyLink(entropy, faults)
        self._committing = before_commit

    async def _call(self, name: str, table: TopicTable | None, request: Callable[[], T]) -> T:
        del table

        def attempt() -> T | TablesError:
            try:
                return request()
            except TablesError as error:
                return error

        if name in _WRITES:
            self._committing()
            await asyncio.sleep(0)  # does not return while the process is stalled
        try:
            answer = await self._link.call(attempt)
        except MetaUnavailable as error:
            raise Unavailable(f"{name}: {error}") from error
        except ResponseLost as error:
            lost = OutcomeUnknown if name in _WRITES else Unavailable
            raise lost(f"{name}: the answer was lost") from error
        if isinstance(answer, TablesError):
            raise answer
        return answer
