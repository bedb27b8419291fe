"""Backups, restores and verifications of the metadata, as commands run them.

A place is named as on the command line: `objects` or `objects:NAME` for the object store, otherwise a path.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from msgspec import structs

from dray.backup.errors import BackupError, BackupMissing
from dray.backup.places import BackupSource, FileSink, FileSource, ObjectSink, ObjectSource, saved_backups
from dray.backup.reading import read_through
from dray.backup.restore import Restored, Restorer
from dray.backup.save import Progress, Saved, Saver
from dray.cluster import StoreNames
from dray.formats.backup_v1 import BackupHeader, BackupTotals, CorruptBackup
from dray.meta.port import MetaError, MetaStore
from dray.objects.port import ObjectError, ObjectStore
from dray.runtime import Threads
from dray.server.access import existing_cluster
from dray.server.errors import StartupError
from dray.server.store_urls import MEMORY, check_metadata_exists, check_storage_exists
from dray.server.stores import ProcessContext, open_stores, process_context
from dray.settings import DraySettings

T = TypeVar("T")

OBJECTS: Final = "objects"
Begin = Callable[[BackupHeader, BackupTotals], None]
"""Called when a restore begins to write."""
Skipped = Callable[[str], None]
"""Receives why a backup is not used."""


def saver(
    settings: DraySettings,
    meta: MetaStore,
    context: ProcessContext,
    *,
    threads: Threads,
    rest: float = 0.0,
) -> Saver:
    kind = settings.metadata.url.partition(":")[0]
    return Saver(meta, kind, context.clock, context.entropy, threads=threads, rest=rest)


def back_up(settings: DraySettings, to: str, progress: Progress) -> Saved:
    """Save the metadata; other processes may be using it."""
    check_metadata_exists(settings)
    if to != OBJECTS:
        return _run(_save(_without_objects(settings), lambda _: FileSink(Path(to)), progress))
    check_storage_exists(settings)
    return _run(_save(settings, None, progress))


def restore(
    settings: DraySettings, source: str, begin: Begin, progress: Progress, skipped: Skipped
) -> Restored:
    """Restore the metadata into the empty store of the settings."""
    if settings.metadata.url == MEMORY:
        raise StartupError(f"a restore into {MEMORY} would be lost at once; name a store with --metadata")
    check_storage_exists(settings)
    return _run(_restore(settings, source, begin, progress, skipped))


def with_source(
    settings: DraySettings,
    source: str,
    read: Callable[[BackupSource], Awaitable[T]],
    skipped: Skipped,
) -> T:
    """Return the result of `read` for a backup."""
    if not is_in_objects(source):
        return _run(read(FileSource(Path(source))))
    check_storage_exists(settings)
    return _run(_with_object_source(_without_metadata(settings), source, read, skipped))


def is_in_objects(place: str) -> bool:
    return place == OBJECTS or place.startswith(f"{OBJECTS}:")


def _run(work: Awaitable[T]) -> T:
    async def main() -> T:
        try:
            return await work
        except (BackupError, CorruptBackup, MetaError, ObjectError) as error:
            raise StartupError(str(error)) from error

    return asyncio.run(main())


async def _save(
    settings: DraySettings, open_file: Callable[[str], FileSink] | None, progress: Progress
) -> Saved:
    context = process_context()
    async with open_stores(settings, context) as stores, _threads() as threads:
        if open_file is not None:
            return await saver(settings, stores.meta, context, threads=threads).save(open_file, progress)
        await existing_cluster(settings, stores)
        open_objects = partial(ObjectSink, stores.objects)
        return await saver(settings, stores.meta, context, threads=threads).save(open_objects, progress)


@asynccontextmanager
async def _threads() -> AsyncIterator[Threads]:
    threads = Threads("backup", 1)
    try:
        yield threads
    finally:
        await threads.stop()


async def _restore(
    settings: DraySettings, source: str, begin: Begin, progress: Progress, skipped: Skipped
) -> Restored:
    context = process_context()
    async with open_stores(settings, context) as stores:
        restorer = Restorer(
            stores.meta,
            stores.objects,
            context.clock,
            context.entropy,
            StoreNames(settings.metadata.url, settings.storage.url),
        )
        chosen = await _chosen(stores.objects, source, skipped)
        return await restorer.restore(chosen, begin, progress)


async def _with_object_source(
    settings: DraySettings, source: str, read: Callable[[BackupSource], Awaitable[T]], skipped: Skipped
) -> T:
    async with open_stores(settings, process_context()) as stores:
        return await read(await _chosen(stores.objects, source, skipped))


async def _chosen(objects: ObjectStore, source: str, skipped: Skipped) -> BackupSource:
    """Return the backup that is named; without a name, the newest one that is undamaged."""
    if not is_in_objects(source):
        return FileSource(Path(source))
    name = source.removeprefix(OBJECTS).removeprefix(":")
    if name:
        return ObjectSource(objects, name)
    for saved in reversed(await saved_backups(objects)):
        found = ObjectSource(objects, saved.backup_id)
        try:
            await read_through(found)
        except (CorruptBackup, BackupMissing) as error:
            skipped(str(error))
        else:
            return found
    raise BackupMissing("there is no undamaged backup of the metadata in the object store")


def _without_objects(settings: DraySettings) -> DraySettings:
    return structs.replace(settings, storage=structs.replace(settings.storage, url=MEMORY))


def _without_metadata(settings: DraySettings) -> DraySettings:
    return structs.replace(settings, metadata=structs.replace(settings.metadata, url=MEMORY))
