"""One backup: a snapshot of the metadata store, encoded in a thread and written to its place.

Memory is bounded by a page of the snapshot and what the sink holds. A snapshot that breaks on the way, or
whose domains do not fit together, is taken again from the start, under another id.
"""

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Final

from dray import __version__
from dray.backup.contents import contents
from dray.backup.errors import NothingToSave, TornBackup
from dray.backup.places import BackupSink, new_backup_id
from dray.cluster.identity_plan import ClusterRecord, IdentityError, decode_identity
from dray.formats.backup_v1 import BackupHeader, FrameWriter
from dray.keyspace import CLUSTER_DOMAIN, CLUSTER_KEY
from dray.meta.port import MetaStore, Snapshot, Unavailable
from dray.runtime import Clock, Entropy, Threads

_ATTEMPTS_MAX: Final = 3

Progress = Callable[[int, int], None]
"""Receives how many more keys, and bytes of their values, were saved or restored."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A complete backup."""

    backup_id: str
    name: str
    records: int
    value_bytes: int
    size_bytes: int
    position: int | None


class Saver:
    """Saves one metadata store; `store` names its kind.

    Threads compete for the interpreter's lock, so a broker sets `rest`: the pause after each page, as a
    multiple of the time that the page took.
    """

    def __init__(
        self,
        meta: MetaStore,
        store: str,
        clock: Clock,
        entropy: Entropy,
        *,
        threads: Threads,
        rest: float = 0.0,
    ) -> None:
        self._meta = meta
        self._store = store
        self._clock = clock
        self._entropy = entropy
        self._threads = threads
        self._rest = rest

    async def save(
        self, open_sink: Callable[[str], BackupSink], progress: Progress = lambda _records, _bytes: None
    ) -> Saved:
        """Save everything to the sink for a backup id; raises `BackupError` or an error of a store."""
        for _ in range(_ATTEMPTS_MAX - 1):
            try:
                return await self._attempt(open_sink, progress)
            except (TornBackup, Unavailable):
                continue
        return await self._attempt(open_sink, progress)

    async def _attempt(self, open_sink: Callable[[str], BackupSink], progress: Progress) -> Saved:
        now_ms = self._clock.now_ms()
        async with self._meta.snapshot() as snapshot:
            cluster, record = await self._cluster(snapshot)
            backup_id = new_backup_id(record.generation, now_ms, self._entropy)
            header = BackupHeader(backup_id, now_ms, __version__, self._store, cluster, snapshot.position)
            sink = open_sink(backup_id)
            try:
                return await self._write(snapshot, record.domains, header, sink, progress)
            except BaseException:
                await sink.discard()
                raise

    async def _write(
        self, snapshot: Snapshot, domains: int, header: BackupHeader, sink: BackupSink, progress: Progress
    ) -> Saved:
        writer = FrameWriter()
        begin = writer.begin(header)
        size_bytes = len(begin)
        await sink.write(begin)
        began = self._clock.monotonic()
        async with aclosing(contents(snapshot, domains, self._clock)) as pages:
            async for domain, records in pages:
                frame = await self._threads.run(partial(writer.add, domain, records))
                await sink.write(frame)
                size_bytes += len(frame)
                progress(len(records), sum(len(record.value) for record in records))
                await self._clock.sleep((self._clock.monotonic() - began) * self._rest)
                began = self._clock.monotonic()
        end = writer.end()
        await sink.complete(end)
        return Saved(
            header.backup_id,
            sink.name,
            writer.records,
            writer.value_bytes,
            size_bytes + len(end),
            header.position,
        )

    async def _cluster(self, snapshot: Snapshot) -> tuple[bytes, ClusterRecord]:
        async with aclosing(snapshot.read(CLUSTER_DOMAIN)) as pages:
            async for page in pages:
                for entry in page:
                    if entry.key == CLUSTER_KEY:
                        return entry.value, _decoded(entry.value)
        raise NothingToSave("there is no cluster in the metadata store, or its restore is not complete")


def _decoded(value: bytes) -> ClusterRecord:
    try:
        return decode_identity(value, ClusterRecord, f"key {CLUSTER_KEY} of the metadata store")
    except IdentityError as error:
        raise NothingToSave(str(error)) from error
