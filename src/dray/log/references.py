"""References that a commit releases when it removes index entries.

A WAL object counts its entries; removing the last one leaves a marker to delete the object. A Parquet file
has one entry; its record becomes a marker, which also says whether the table still references the file. Each
record is checked by its version, so a reference is released exactly once, however often and by however many
processes the removal is attempted.
"""

from collections.abc import Iterable

from dray.ids import MetaDomain, WalId
from dray.index import (
    FileGcMarker,
    IndexEntry,
    ParquetEntry,
    Released,
    WalEntry,
    WalObject,
    decode_file,
    decode_object,
    encode_file,
    encode_object,
    references_of,
    release,
)
from dray.keyspace import file_gc_key, file_key, log_domain, wal_gc_key, wal_object_key
from dray.log.settings import LogSettings
from dray.meta.port import ABSENT, Check, Delete, MetaStore, Put, Write
from dray.runtime import Clock

Change = tuple[list[Check], list[Write]]
"""Part of a commit."""


class References:
    """The objects and files that entries of one domain point to."""

    def __init__(self, meta: MetaStore, domain: MetaDomain, clock: Clock, settings: LogSettings) -> None:
        self._meta = meta
        self._store_domain = log_domain(domain)
        self._domain = domain
        self._clock = clock
        self._settings = settings

    async def released(self, entries: Iterable[IndexEntry], *, in_table: bool) -> Change:
        """Return what to check and write along with the removal of `entries`.

        `in_table` says whether the table still references the Parquet files among them.
        """
        entries = list(entries)
        checks, writes = await self._objects([entry for entry in entries if isinstance(entry, WalEntry)])
        for entry in entries:
            if isinstance(entry, ParquetEntry):
                more_checks, more_writes = await self._file(entry, in_table)
                checks += more_checks
                writes += more_writes
        return checks, writes

    async def _objects(self, entries: Iterable[WalEntry]) -> Change:
        removed = references_of(entries)
        checks: list[Check] = []
        objects: dict[WalId, WalObject] = {}
        for wal_id in removed:
            key = wal_object_key(self._domain, wal_id)
            stored = await self._meta.get(self._store_domain, key)
            checks.append(Check(key, ABSENT if stored is None else stored.version))
            if stored is not None:
                objects[wal_id] = decode_object(key, stored.value)
        delete_after_ms = self._clock.now_ms() + self._settings.wal_gc_grace_ms
        left = release({wal_id: removed[wal_id] for wal_id in objects}, objects, delete_after_ms)
        return checks, [write for released in left for write in self._written(released)]

    def _written(self, released: Released) -> list[Write]:
        key = wal_object_key(self._domain, released.wal_id)
        if isinstance(released.after, WalObject):
            return [Put(key, encode_object(released.after))]
        return [Delete(key), Put(wal_gc_key(self._domain, released.wal_id), encode_object(released.after))]

    async def _file(self, entry: ParquetEntry, in_table: bool) -> Change:
        key = file_key(self._domain, entry.file_id)
        stored = await self._meta.get(self._store_domain, key)
        if stored is None:
            return [Check(key, ABSENT)], []
        file = decode_file(key, stored.value)
        delete_after_ms = self._clock.now_ms() + self._settings.file_gc_grace_ms
        mark = FileGcMarker(file.path, file.stream, file.topic, delete_after_ms, in_table)
        put = Put(file_gc_key(self._domain, entry.file_id), encode_file(mark))
        return [Check(key, stored.version)], [Delete(key), put]
