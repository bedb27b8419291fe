"""Asking tables whether they still, or again, name files that are about to be deleted.

A file that a merge or a repair has given up was out of the table then. Somebody who rolls the table back has
it in there again, and so it must stay. Once in a turn, each table with files whose grace is over is asked for
what it names. Those files' marks begin their grace anew; for the others the sweep is told that the table was
asked (`dray.index.asked`). A table that does not answer lets nothing go, nor does one that somebody has
renamed, or that does not say any more whose it is; and one that cannot be read may be such a one.

Only the current snapshot counts: a file of an older one goes when its grace is over, or retention would not
delete while somebody's tag is there.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Final

import msgspec

from dray.ids import MetaDomain, TopicRef
from dray.index import decode_file_gc, domain_name, encode_file, file_gc_range
from dray.index.asked import Asked, asked_key, encode_asked
from dray.log import LogSettings
from dray.meta.port import ABSENT, Check, Domain, MetaStore, Put
from dray.observe import get_logger
from dray.pipeline.care.detach import Marked
from dray.pipeline.care.stored_values import readable
from dray.pipeline.topic_tables import table_of
from dray.runtime import Clock
from dray.tables.port import Listing, NotOurs, TableMissing, Tables, TablesError, TopicTable

_AGAIN_MS: Final = 30_000
"""An answer this young is told again rather than asked for again: the sweep has not come by yet."""
_TOPICS_MAX: Final = 1_000
"""How many topics a turn asks about; bounds the value that tells of them."""
_log = get_logger("pipeline")


class Asking:
    """Asks for all topics of a cluster; may be done by several at once."""

    def __init__(
        self, meta: MetaStore, tables: Tables, clock: Clock, settings: LogSettings, domains: int
    ) -> None:
        self._meta = meta
        self._tables = tables
        self._clock = clock
        self._settings = settings
        self._domains = [MetaDomain(number) for number in range(domains)]
        self._asked: dict[TopicRef, int] = {}
        self._begun = False
        self._listing: Listing | None = None
        """The tables that there are, once a turn has had to look."""

    async def begin(self) -> None:
        """Say that there are tables to be asked, before the first of them gets a file."""
        if self._begun:
            return
        for domain in self._domains:
            put = Put(asked_key(domain), encode_asked(Asked()))
            # A conflict means that it has been said before.
            await self._meta.commit(_store(domain), [Check(put.key, ABSENT)], [put])
        self._begun = True

    async def run(self) -> set[TopicRef]:
        """Ask; returns the topics whose tables name files that were given up."""
        now_ms = self._clock.now_ms()
        self._listing = None
        due = await self._due(now_ms)
        again: set[TopicRef] = set()
        asked: dict[TopicRef, int] = {}
        for ref, marked in islice(due.items(), _TOPICS_MAX):
            if self._is_known(ref, marked, now_ms):
                asked[ref] = self._asked[ref]
                continue
            named = await self._named(ref)
            if named is None:
                continue
            held = [one for one in marked if one.marker.path in named]
            await self._hold(held)
            asked[ref] = now_ms
            if held:
                again.add(ref)
        await self._tell(asked, due)
        return again

    async def _due(self, now_ms: int) -> dict[TopicRef, list[Marked]]:
        """Return the marks whose grace is over, by topic."""
        found: dict[TopicRef, list[Marked]] = {}
        for domain in self._domains:
            marks = readable(self._meta, _store(domain), file_gc_range(domain), decode_file_gc)
            async for stored, marker in marks:
                if not marker.in_table and marker.delete_after_ms <= now_ms:
                    found.setdefault(marker.topic, []).append(Marked(_store(domain), stored, marker))
        return found

    def _is_known(self, ref: TopicRef, marked: Iterable[Marked], now_ms: int) -> bool:
        asked_ms = self._asked.get(ref)
        if asked_ms is None or asked_ms <= now_ms - _AGAIN_MS:
            return False
        return all(one.marker.delete_after_ms <= asked_ms for one in marked)

    async def _named(self, ref: TopicRef) -> frozenset[str] | None:
        """Return the files that the table names, or None if it does not say."""
        try:
            try:
                state = await self._tables.current(table_of(ref))
            except (TableMissing, NotOurs):
                return frozenset() if await self._is_gone(table_of(ref)) else None
        except TablesError as error:
            _log.warning("table_not_asked", topic=ref.name, error=str(error))
            return None
        return frozenset(file.path for file in state.files)

    async def _is_gone(self, table: TopicTable) -> bool:
        """Whether no table can be this topic's: there is none of the name, or it is a namesake's."""
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

    async def _hold(self, marked: Iterable[Marked]) -> None:
        delete_after_ms = self._clock.now_ms() + max(1, self._settings.file_gc_grace_ms)
        for one in marked:
            held = msgspec.structs.replace(one.marker, delete_after_ms=delete_after_ms)
            check = Check(one.stored.key, one.stored.version)
            await self._meta.commit(one.domain, [check], [Put(one.stored.key, encode_file(held))])
            _log.warning(
                "file_kept", topic=one.marker.topic.name, path=one.marker.path, why="the table names it"
            )

    async def _tell(self, asked: dict[TopicRef, int], due: dict[TopicRef, list[Marked]]) -> None:
        for domain in self._domains:
            here = {
                ref.topic_id.hex(): asked_ms
                for ref, asked_ms in asked.items()
                if any(one.domain == _store(domain) for one in due[ref])
            }
            if any(self._asked.get(ref) != asked_ms for ref, asked_ms in asked.items()):
                put = Put(asked_key(domain), encode_asked(Asked(here)))
                await self._meta.commit(_store(domain), [], [put])
        self._asked = asked


def _store(domain: MetaDomain) -> Domain:
    return Domain(domain_name(domain))
