"""Files that the SQLite store opens, and its errors for those it refuses."""

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


async def test_file_and_directory_are_private_to_their_owner(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "meta.db"
    async with opened(path) as store:
        await put(store, "/a")
        made = [file for file in path.parent.iterdir() if file.is_file()]
        assert {file.name for file in made} == {"meta.db", "meta.db-lock", "meta.db-shm", "meta.db-wal"}
        assert {stat.S_IMODE(file.stat().st_mode) for file in made} == {0o600}
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_closed_store_leaves_a_single_file(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    async with opened(path) as store:
        await put(store, "/a", b"kept")
    assert _names(tmp_path) == {"meta.db", "meta.db-lock"}
    async with opened(path) as store:
        assert await value_of(store, "/a") == b"kept"


async def test_new_file_may_be_opened_concurrently(tmp_path: Path) -> None:
    harness = SqliteHarness(tmp_path / "meta.db")
    stores = await asyncio.gather(*(harness.open() for _ in range(8)))
    await asyncio.gather(*(put(store, f"/{n}") for n, store in enumerate(stores)))
    assert [await value_of(stores[0], f"/{n}") for n in range(8)] == [b""] * 8
    await harness.close()


async def test_uncreatable_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    await _refused(tmp_path / "file" / "meta.db", "writable directory")


async def test_directory_as_path_is_refused(tmp_path: Path) -> None:
    await _refused(tmp_path, "is a file in")


async def test_garbage_is_refused_and_left_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    path.write_bytes(b"these are not the bytes you are looking for" * 100)
    await _refused(path, "not an SQLite file")
    assert path.read_bytes().startswith(b"these are not")


async def test_file_of_another_application_is_refused_and_left_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    _execute(path, "CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)")
    before = path.read_bytes()
    await _refused(path, "another application")
    assert path.read_bytes() == before
    assert _names(tmp_path) == {"meta.db"}


async def test_file_of_another_schema_is_refused_and_left_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    async with opened(path) as store:
        await put(store, "/a", b"kept")
    _execute(path, f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    await _refused(path, rf"newer Dray \(schema {SCHEMA_VERSION + 1}, .*: upgrade Dray$")
    _execute(path, f"PRAGMA user_version = {SCHEMA_VERSION - 1}")
    await _refused(path, rf"older Dray \(schema {SCHEMA_VERSION - 1}, .*: start with an empty data directory")
    _execute(path, f"PRAGMA user_version = {SCHEMA_VERSION}")
    async with opened(path) as store:
        assert await value_of(store, "/a") == b"kept"


async def test_read_only_file_is_refused_with_a_remedy(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    async with opened(path) as store:
        await put(store, "/a", b"kept")
    with faulty_vfs() as vfs:
        vfs.read_only = True
        await _refused(path, "grant this user write permission", SqliteMetaSettings(vfs=vfs.name))


async def test_damaged_file_is_refused_with_a_remedy(tmp_path: Path) -> None:
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
