"""Facts about objects from the bucket: what a listing has, and old objects that no key names."""

from collections.abc import Mapping
from typing import Final

from dray.check.deps import CheckDeps
from dray.check.findings import ObjectKind
from dray.check.object_findings import Stray
from dray.check.window import Known, Window
from dray.ids import MetaDomain, meta_domain
from dray.index import FILES_PREFIX, WAL_PREFIX, CorruptValue, parse_file_path, parse_wal_path
from dray.keyspace import log_domain
from dray.objects.port import NotFound, ObjectInfo
from dray.sweep import WalSweep
from dray.sweep.files import FileSweep
from dray.sweep.plan import PendingDeletion

_FILE: Final = ".parquet"
_KINDS: Final = {WAL_PREFIX: ObjectKind.WAL, FILES_PREFIX: ObjectKind.FILE}
Windows = Mapping[tuple[MetaDomain, ObjectKind], Window]


class Bucket:
    """The object store, as a check uses it."""

    def __init__(self, deps: CheckDeps) -> None:
        self._deps = deps
        numbers = [MetaDomain(number) for number in range(deps.domains)]
        meta, objects, clock, ttl_ms = deps.meta, deps.objects, deps.clock, deps.settings.orphan_ttl_ms
        self._wal = [WalSweep(meta, objects, number, clock, ttl_ms) for number in numbers]
        self._files = [
            FileSweep(meta, objects, number, domains=deps.domains, clock=clock, orphan_ttl_ms=ttl_ms)
            for number in numbers
        ]

    async def compare(self, windows: Windows) -> None:
        """List all objects: note the size of those in the windows, and old ones that no key names."""
        for prefix, kind in _KINDS.items():
            async for info in self._deps.objects.list(prefix):
                self._deps.progress.objects += 1
                self._deps.report()
                place = self._place(info.path)
                window = None if place is None else windows.get((place[0], kind))
                if place is None or window is None or not window.covers(place[1]):
                    continue
                known = window.objects.get(place[1])
                if known is not None and known.path == info.path:
                    known.stored_bytes = info.size_bytes
                elif len(window.strays) < self._deps.objects_at_once and await self._is_stray(*place, info):
                    window.strays[info.path] = (place[1], info.size_bytes)

    async def look_again(self, known: Known, path: str) -> None:
        """Ask for an object by name; a listing may have begun before it was written."""
        try:
            known.stored_bytes = (await self._deps.objects.head(path)).size_bytes
        except NotFound:
            known.stored_bytes = None

    async def deletion_of_stray(self, stray: Stray) -> PendingDeletion | None:
        """Return the sweep's deletion of a stray, or None if it is none any more."""
        place = self._place(stray.path)
        try:
            info = await self._deps.objects.head(stray.path)
        except NotFound:
            return None
        return None if place is None else await self._stray(place[0], stray.kind, info)

    async def deletion_of_marked(
        self, domain: MetaDomain, kind: ObjectKind, key: str
    ) -> PendingDeletion | None:
        """Return the sweep's deletion of an object with a marker, or None if it is not due."""
        stored = await self._deps.meta.get(log_domain(domain), key)
        if stored is None:
            return None
        if kind is ObjectKind.WAL:
            return self._wal[domain].marked(stored)
        return await self._files[domain].marked(stored)

    async def _is_stray(self, domain: MetaDomain, _: bytes, info: ObjectInfo) -> bool:
        kind = ObjectKind.FILE if info.path.startswith(FILES_PREFIX) else ObjectKind.WAL
        try:
            return await self._stray(domain, kind, info) is not None
        except CorruptValue:
            return False  # reported where it is scanned

    async def _stray(self, domain: MetaDomain, kind: ObjectKind, info: ObjectInfo) -> PendingDeletion | None:
        sweep = self._wal[domain] if kind is ObjectKind.WAL else self._files[domain]
        return await sweep.stray(info)

    def _place(self, path: str) -> tuple[MetaDomain, bytes] | None:
        """Return the domain and the id in a path, or None for other objects and domains that do not exist."""
        wal = parse_wal_path(path)
        if wal is not None:
            return wal if wal[0] < self._deps.domains else None
        file = parse_file_path(path)
        return None if file is None else (meta_domain(file[0], self._deps.domains), file[1])
