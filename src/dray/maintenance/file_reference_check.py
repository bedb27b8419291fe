"""Reference check: whether tables still, or again, reference files that are about to be deleted.

A file that a merge or a repair has released was out of the table at that time, but a rollback makes the table
reference it again, and it must then be kept. Once per pass, the current files of each table with files past
their grace period are read. Files that the table references get a new grace period; for the others, the time
of the check is recorded for the sweep (`dray.index.reference_checks`). A table that cannot be read releases
nothing, nor does one that was renamed or has lost the properties that name its topic; any unreadable table
may be one of these.

Only the current snapshot counts. Files of older snapshots are deleted after their grace period; otherwise one
tag would keep retention from ever deleting.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Final

import msgspec

from dray.compaction.topic_tables import table_of
from dray.ids import MetaDomain, TopicRef
from dray.index import encode_file
from dray.index.reference_checks import ReferenceChecks, encode_checks
from dray.keyspace import log_domain, reference_check_key
from dray.log import LogSettings
from dray.maintenance.stored_values import MarkedFile, marked_files
from dray.meta.port import ABSENT, Check, MetaStore, Put
from dray.observe import get_logger
from dray.runtime import Clock
from dray.tables.port import Listing, NotOurs, TableMissing, Tables, TablesError, TopicTable

_REUSE_MS: Final = 30_000
"""A check this recent is recorded again instead of repeated: the sweep has not run since."""
_TOPICS_MAX: Final = 1_000
"""Topics checked per pass; bounds the size of the record."""
_log = get_logger("maintenance")


class FileReferenceCheck:
    """Checks the tables of all topics; several compactors may do so at the same time."""

    def __init__(
        self, meta: MetaStore, tables: Tables, clock: Clock, settings: LogSettings, domains: int
    ) -> None:
        self._meta = meta
        self._tables = tables
        self._clock = clock
        self._settings = settings
        self._domains = [MetaDomain(number) for number in range(domains)]
        self._checked_ms: dict[TopicRef, int] = {}
        self._begun = False
        self._listing: Listing | None = None
        """All tables, once a pass has had to list them."""

    async def begin(self) -> None:
        """Record that tables must be checked, before the first of them gets a file."""
        if self._begun:
            return
        for domain in self._domains:
            put = Put(reference_check_key(domain), encode_checks(ReferenceChecks()))
            # A conflict means that it is recorded already.
            await self._meta.commit(log_domain(domain), [Check(put.key, ABSENT)], [put])
        self._begun = True

    async def run(self) -> set[TopicRef]:
        """Check the tables; returns the topics whose tables reference released files."""
        now_ms = self._clock.now_ms()
        self._listing = None
        due = await self._due(now_ms)
        referencing: set[TopicRef] = set()
        checked_ms: dict[TopicRef, int] = {}
        for ref, marked in islice(due.items(), _TOPICS_MAX):
            if self._is_recent(ref, marked, now_ms):
                checked_ms[ref] = self._checked_ms[ref]
                continue
            referenced = await self._referenced(ref)
            if referenced is None:
                continue
            kept = [one for one in marked if one.marker.path in referenced]
            await self._postpone(kept)
            checked_ms[ref] = now_ms
            if kept:
                referencing.add(ref)
        await self._record(checked_ms, due)
        return referencing

    async def _due(self, now_ms: int) -> dict[TopicRef, list[MarkedFile]]:
        """Return the marked files whose grace period is over, by topic."""
        found: dict[TopicRef, list[MarkedFile]] = {}
        for domain in self._domains:
            async for one in marked_files(self._meta, domain):
                if not one.marker.in_table and one.marker.delete_after_ms <= now_ms:
                    found.setdefault(one.marker.topic, []).append(one)
        return found

    def _is_recent(self, ref: TopicRef, marked: Iterable[MarkedFile], now_ms: int) -> bool:
        checked_ms = self._checked_ms.get(ref)
        if checked_ms is None or checked_ms <= now_ms - _REUSE_MS:
            return False
        return all(one.marker.delete_after_ms <= checked_ms for one in marked)

    async def _referenced(self, ref: TopicRef) -> frozenset[str] | None:
        """Return the files that the table references, or None if that is unknown."""
        try:
            try:
                state = await self._tables.current(table_of(ref))
            except (TableMissing, NotOurs):
                return frozenset() if await self._does_not_exist(table_of(ref)) else None
        except TablesError as error:
            _log.warning("reference_check_failed", topic=ref.name, error=str(error))
            return None
        return frozenset(file.path for file in state.files)

    async def _does_not_exist(self, table: TopicTable) -> bool:
        """Return whether the topic certainly has no table: none has its name, or a later topic's has."""
        if self._listing is None:
            self._listing = await self._tables.listing()
        listing = self._listing
        if not listing.is_whole or table in listing or table in listing.elsewhere.values():
            return False
        try:
            await self._tables.check(table)
        except TableMissing:
            return True
        except NotOurs:
            return any(one.topic == table.topic for one in listing)
        return False

    async def _postpone(self, marked: Iterable[MarkedFile]) -> None:
        delete_after_ms = self._clock.now_ms() + max(1, self._settings.file_gc_grace_ms)
        for one in marked:
            extended = msgspec.structs.replace(one.marker, delete_after_ms=delete_after_ms)
            check = Check(one.stored.key, one.stored.version)
            await self._meta.commit(one.domain, [check], [Put(one.stored.key, encode_file(extended))])
            topic, path = one.marker.topic.name, one.marker.path
            _log.warning("deletion_postponed", topic=topic, path=path, reason="the table references it")

    async def _record(self, checked_ms: dict[TopicRef, int], due: dict[TopicRef, list[MarkedFile]]) -> None:
        for domain in self._domains:
            here = {
                ref.topic_id.hex(): at_ms
                for ref, at_ms in checked_ms.items()
                if any(one.domain == log_domain(domain) for one in due[ref])
            }
            if any(self._checked_ms.get(ref) != at_ms for ref, at_ms in checked_ms.items()):
                put = Put(reference_check_key(domain), encode_checks(ReferenceChecks(here)))
                await self._meta.commit(log_domain(domain), [], [put])
        self._checked_ms = checked_ms
