"""The shared stores of the simulation, each telling the onlooker what happens in it."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from typing_extensions import Buffer

from dray.meta.memory import AnswerLost, MemoryMetaServer
from dray.meta.port import Check, Conflict, Domain, Versions, Write
from dray.meta.port import Unavailable as MetaUnavailable
from dray.objects.memory import MemoryBucket
from dray.objects.port import ByteRange, NotFound
from dray.runtime import Clock, Entropy
from dray.tables.memory import MemoryCatalog, MemoryTables
from dray.tables.port import (
    ANYWHERE,
    Committed,
    DataFile,
    Job,
    OutcomeUnknown,
    TablesError,
    TopicTable,
    Unavailable,
)
from dray.testing.faulty_link import FaultyLink, FaultyLinkSettings
from dray.testing.sim.tables.onlooker import Onlooker

T = TypeVar("T")
_WRITES = frozenset({"create_if_missing", "append", "replace", "expire", "drop"})


class WatchedServer(MemoryMetaServer):
    """The metadata store."""

    def __init__(self, clock: Clock, onlooker: Onlooker) -> None:
        super().__init__(clock)
        self._onlooker = onlooker

    def commit(
        self, commit_id: str, domain: Domain, checks: tuple[Check, ...], writes: tuple[Write, ...]
    ) -> Versions | Conflict:
        result = super().commit(commit_id, domain, checks, writes)
        if isinstance(result, Versions):
            self._onlooker.committed(writes)
        return result


class WatchedBucket(MemoryBucket):
    """The object store."""

    def __init__(self, clock: Clock, onlooker: Onlooker) -> None:
        super().__init__(clock)
        self._onlooker = onlooker
        onlooker.read_file = self.get

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
        try:
            return super().get_ranges(path, ranges)
        except NotFound:
            self._onlooker.counts.reads_in_vain += 1
            raise

    def delete(self, path: str) -> None:
        if self.page(path, "", 1):
            self._onlooker.deleted(path)
        super().delete(path)


class WatchedCatalog(MemoryCatalog):
    """The catalogue of tables."""

    def __init__(self, clock: Clock, onlooker: Onlooker) -> None:
        super().__init__(clock)
        self._onlooker = onlooker

    def append(
        self, table: TopicTable, files: Sequence[DataFile], job: Job, onto: int | None = ANYWHERE
    ) -> Committed:
        known = {file.path for file in self.current(table).files}
        done = self._told(table, super().append(table, files, job, onto))
        if not done.repeated:
            self._onlooker.appended(table, [file.path for file in files if file.path in known])
        return done

    def replace(
        self,
        table: TopicTable,
        removed: Sequence[str],
        added: Sequence[DataFile],
        job: Job,
        onto: int | None = ANYWHERE,
    ) -> Committed:
        return self._told(table, super().replace(table, removed, added, job, onto))

    def drop(self, table: TopicTable) -> bool:
        dropped = super().drop(table)
        self._onlooker.dropped(table)
        return dropped

    def _told(self, table: TopicTable, done: Committed) -> Committed:
        if not done.repeated:
            self._onlooker.tabled(table, self.current(table).files)
        return done


class FaultyTables(MemoryTables):
    """One process's way to the catalogue, which delays, loses, and lets requests arrive late."""

    def __init__(
        self,
        catalog: MemoryCatalog,
        entropy: Entropy,
        faults: FaultyLinkSettings,
        committing: Callable[[], None],
    ) -> None:
        super().__init__(catalog)
        self._link = FaultyLink(entropy, faults)
        self._committing = committing

    async def _call(self, name: str, table: TopicTable | None, request: Callable[[], T]) -> T:
        del table

        def attempt() -> T | TablesError:
            try:
                return request()
            except TablesError as error:
                return error

        if name in _WRITES:
            self._committing()
            await asyncio.sleep(0)  # for as long as the process is halted
        try:
            answer = await self._link.call(attempt)
        except MetaUnavailable as error:
            raise Unavailable(f"{name}: {error}") from error
        except AnswerLost as error:
            lost = OutcomeUnknown if name in _WRITES else Unavailable
            raise lost(f"{name}: the answer was lost") from error
        if isinstance(answer, TablesError):
            raise answer
        return answer
