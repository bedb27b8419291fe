"""Places of backups: parts in the object store, incomplete backups, and broken snapshots."""

import stat
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from dray.backup import places
from dray.backup.errors import BackupMissing
from dray.backup.places import FOLDER, FileSink, ObjectSink, ObjectSource, delete_backup, saved_backups
from dray.backup.reading import read_through
from dray.backup.save import Saved, Saver
from dray.ids import Domain
from dray.meta.port import CommitLimits, Entry, MetaStore, Snapshot, Unavailable
from dray.objects.memory import MemoryObjects
from dray.runtime import Threads
from tests.backup.worlds import CLOCK, ENTROPY, Cluster, memory_store, put_all, some_keys


class BreakingStore:
    """A store whose first snapshots break after some pages."""

    limits: CommitLimits

    def __init__(self, inner: MetaStore, pages: list[int]) -> None:
        self._inner = inner
        self._pages = pages

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator["Snapshot"]:
        async with self._inner.snapshot() as snapshot:
            yield BreakingSnapshot(snapshot, self._pages.pop(0) if self._pages else 10**6)


class BreakingSnapshot:
    def __init__(self, inner: Snapshot, pages: int) -> None:
        self._inner = inner
        self._pages = pages
        self.position = inner.position

    async def read(self, domain: Domain) -> AsyncGenerator[list[Entry], None]:
        async for page in self._inner.read(domain):
            self._pages -= 1
            if self._pages < 0:
                raise Unavailable("the scan broke")
            yield page


async def save(meta: object, objects: MemoryObjects) -> Saved:
    threads = Threads("backup", 1)
    try:
        saver = Saver(cast("MetaStore", meta), "memory", CLOCK, ENTROPY, threads=threads)
        return await saver.save(lambda backup_id: ObjectSink(objects, backup_id))
    finally:
        await threads.stop()


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with memory_store() as meta:
        made = Cluster(meta)
        await made.claim()
        await put_all(meta, some_keys())
        yield made


async def names(objects: MemoryObjects) -> list[str]:
    return [info.path.removeprefix(FOLDER).partition("/")[2] async for info in objects.list(FOLDER)]


async def test_backup_is_cut_into_parts_that_are_a_file_when_joined(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "PART_BYTES", 100)
    saved = await save(cluster.meta, cluster.objects)
    found = [info async for info in cluster.objects.list(FOLDER)]
    assert len(found) > 3
    assert (await names(cluster.objects))[:2] == ["end", "part-00000"]
    source = ObjectSource(cluster.objects, saved.backup_id)
    header, totals = await read_through(source)
    assert (header.backup_id, totals.records) == (saved.backup_id, len(some_keys()))
    (listed,) = await saved_backups(cluster.objects)
    assert (listed.backup_id, listed.size_bytes) == (saved.backup_id, saved.size_bytes)
    joined = tmp_path / "joined"
    joined.write_bytes(b"".join([bytes(piece) async for piece in source.pieces()]))
    async with memory_store() as target:
        assert (await cluster.restore(joined, target)).records == len(some_keys())


async def test_backup_without_its_end_is_not_one(cluster: Cluster) -> None:
    saved = await save(cluster.meta, cluster.objects)
    await cluster.objects.delete(f"{FOLDER}{saved.backup_id}/end")
    assert await saved_backups(cluster.objects) == []
    with pytest.raises(BackupMissing, match=r"is not complete; there is none in the object store"):
        await read_through(ObjectSource(cluster.objects, saved.backup_id))


async def test_interrupted_deletion_leaves_no_backup(cluster: Cluster) -> None:
    saved = await save(cluster.meta, cluster.objects)
    deleted: list[str] = []
    real = cluster.objects.delete

    async def crash_after_one(path: str) -> None:
        if deleted:
            raise Unavailable("crashed")
        deleted.append(path)
        await real(path)

    cluster.objects.delete = crash_after_one  # type: ignore[method-assign]
    with pytest.raises(Unavailable):
        await delete_backup(cluster.objects, saved.backup_id)
    assert await saved_backups(cluster.objects) == []


async def test_snapshot_that_breaks_is_taken_again_and_leaves_nothing(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "PART_BYTES", 1)
    saved = await save(BreakingStore(cluster.meta, [5, 7]), cluster.objects)
    assert [one.backup_id for one in await saved_backups(cluster.objects)] == [saved.backup_id]
    assert await saved_backups(cluster.objects, incomplete=True) == []
    with pytest.raises(Unavailable, match="the scan broke"):
        await save(BreakingStore(cluster.meta, [5, 5, 5]), cluster.objects)
    assert len(await saved_backups(cluster.objects)) == 1


async def test_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    sink = FileSink(tmp_path / "b")
    await sink.write(b"one")
    assert not (tmp_path / "b").exists(), "it appears when it is complete"
    await sink.complete(b"two")
    assert (tmp_path / "b").read_bytes() == b"onetwo"
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o600


async def test_discarded_file_leaves_nothing(tmp_path: Path) -> None:
    sink = FileSink(tmp_path / "b")
    await sink.write(b"one")
    await sink.discard()
    assert file_names(tmp_path) == []


def file_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
