"""Which files the SQLite store opens, and what it says about those it does not."""

import asyncio
import stat
from pathlib import Path

import apsw
import pytest

from dray.meta.port import StoreUnusable
from dray.meta.sqlite import SqliteMetaSettings
from dray.meta.sqlite.schema import SCHEMA_VERSION
from dray.testing.contracts.meta_harness import put, value_of
from tests.meta.faulty_vfs import faulty_vfs
from tests.meta.sqlite_harness import SqliteHarness, opened


async def test_the_file_and_its_directory_are_made_for_their_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "meta.db"
    async with opened(path) as store:
        await put(store, "/a")
        made = [file for file in path.parent.iterdir() if file.is_file()]
        assert {file.name for file in made} == {"meta.db", "meta.db-lock", "meta.db-shm", "meta.db-wal"}
        assert {stat.S_IMODE(file.stat().st_mode) for file in made} == {0o600}
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_a_closed_store_leaves_one_file_with_everything(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    async with opened(path) as store:
        await put(store, "/a", b"kept")
    assert _names(tmp_path) == {"meta.db", "meta.db-lock"}
    async with opened(path) as store:
        assert await value_of(store, "/a") == b"kept"


async def test_many_open_a_new_file_at_once(tmp_path: Path) -> None:
    harness = SqliteHarness(tmp_path / "meta.db")
    stores = await asyncio.gather(*(harness.open() for _ in range(8)))
    await asyncio.gather(*(put(store, f"/{n}") for n, store in enumerate(stores)))
    assert [await value_of(stores[0], f"/{n}") for n in range(8)] == [b""] * 8
    await harness.close()


async def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    await _refused(tmp_path / "file" / "meta.db", "directory that can be written")


async def test_a_path_that_is_a_directory(tmp_path: Path) -> None:
    await _refused(tmp_path, "names a file")


async def test_garbage_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    path.write_bytes(b"these are not the bytes you are looking for" * 100)
    await _refused(path, "no SQLite file")
    assert path.read_bytes().startswith(b"these are not")


async def test_a_file_of_another_application_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    _execute(path, "CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)")
    before = path.read_bytes()
    await _refused(path, "another application")
    assert path.read_bytes() == before
    assert _names(tmp_path) == {"meta.db"}


async def test_a_file_of_a_newer_dray_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    async with opened(path) as store:
        await put(store, "/a", b"kept")
    _execute(path, f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    await _refused(path, f"schema version {SCHEMA_VERSION + 1}.*newer")
    _execute(path, f"PRAGMA user_version = {SCHEMA_VERSION}")
    async with opened(path) as store:
        assert await value_of(store, "/a") == b"kept"


async def test_a_read_only_file_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    async with opened(path) as store:
        await put(store, "/a", b"kept")
    with faulty_vfs() as vfs:
        vfs.read_only = True
        await _refused(path, "let this user write", SqliteMetaSettings(vfs=vfs.name))


async def test_a_damaged_file_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    async with opened(path) as store:
        for n in range(200):
            await put(store, f"/{n}", bytes(500))
    damaged = bytearray(path.read_bytes())
    damaged[4096:] = b"\xa5" * (len(damaged) - 4096)
    path.write_bytes(damaged)
    with pytest.raises(StoreUnusable, match=r"meta\.db.*damaged.*backup"):
        async with opened(path) as store:
            await put(store, "/a")


async def _refused(path: Path, why: str, settings: SqliteMetaSettings | None = None) -> None:
    with pytest.raises(StoreUnusable, match=why) as refusal:
        async with opened(path, settings):
            raise AssertionError(f"{path} was opened")
    assert str(path) in str(refusal.value)


def _names(directory: Path) -> set[str]:
    return {file.name for file in directory.iterdir()}


def _execute(path: Path, sql: str) -> None:
    db = apsw.Connection(str(path))
    db.execute(sql).fetchall()
    db.close()
