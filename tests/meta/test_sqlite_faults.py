"""The SQLite store on a failing disk: commits in doubt, a full disk, recovery."""

import asyncio
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from dray.meta.port import (
    ABSENT,
    Check,
    CommitTooLarge,
    Conflict,
    OutcomeUnknown,
    Put,
    StoreUnusable,
    Unavailable,
    Versions,
)
from dray.meta.sqlite import SqliteMetaSettings, transaction
from dray.meta.sqlite.plan import GroupPlan
from dray.meta.sqlite.write_lock import WriteLock
from dray.testing.contracts.meta_harness import D, put, value_of
from tests.meta.faulty_vfs import FaultyVfs, faulty_vfs
from tests.meta.sqlite_harness import opened


@pytest.fixture
def vfs() -> Iterator[FaultyVfs]:
    with faulty_vfs() as vfs:
        yield vfs


@pytest.fixture
def settings(vfs: FaultyVfs) -> SqliteMetaSettings:
    return SqliteMetaSettings(vfs=vfs.name, wait_ms=5_000)


async def test_concurrent_commits_share_a_sync(
    tmp_path: Path, vfs: FaultyVfs, settings: SqliteMetaSettings
) -> None:
    async with opened(tmp_path / "meta.db", settings) as store:
        await put(store, "/warm")
        before = vfs.syncs
        await asyncio.gather(*(put(store, f"/{n}") for n in range(100)))
        assert 1 <= vfs.syncs - before <= 20


async def test_every_commit_is_synced(tmp_path: Path, vfs: FaultyVfs, settings: SqliteMetaSettings) -> None:
    async with opened(tmp_path / "meta.db", settings) as store:
        before = vfs.syncs
        for n in range(10):
            await put(store, f"/{n}")
        assert vfs.syncs - before >= 10


async def test_failed_check_does_not_affect_other_commits_of_the_group(
    tmp_path: Path, vfs: FaultyVfs, settings: SqliteMetaSettings
) -> None:
    async with opened(tmp_path / "meta.db", settings) as store:
        await put(store, "/there")
        good = [store.commit(D, [Check(f"/{n}", ABSENT)], [Put(f"/{n}", b"1")]) for n in range(20)]
        bad = [store.commit(D, [Check("/there", ABSENT)], [Put(f"/bad{n}", b"1")]) for n in range(20)]
        mixed = [commit for pair in zip(good, bad, strict=True) for commit in pair]
        outcomes = await asyncio.gather(*mixed)
        assert all(isinstance(outcome, Versions) for outcome in outcomes[::2])
        assert outcomes[1::2] == [Conflict(("/there",))] * 20
        assert len(await store.scan(D, "/", "/~")) == 21


async def test_commit_whose_sync_failed_is_fenced(
    tmp_path: Path, vfs: FaultyVfs, settings: SqliteMetaSettings
) -> None:
    async with opened(tmp_path / "meta.db", settings) as store:
        version = await put(store, "/a", b"before")
        vfs.syncs_to_fail = 2  # the one of the commit, and the one of the first fence
        with pytest.raises(Unavailable, match="sync failed"):
            await store.commit(D, [], [Put("/a", b"doubtful")])
        assert vfs.syncs_to_fail == 0
        entry = await store.get(D, "/a")
        assert entry is not None
        assert (entry.value, entry.version) == (b"before", version)
        assert await put(store, "/a", b"after") != version
    assert _intact(tmp_path / "meta.db")


async def test_fenced_commit_does_not_return_after_recovery(
    tmp_path: Path, vfs: FaultyVfs, settings: SqliteMetaSettings
) -> None:
    """The failed sync left the whole commit in the WAL; a recovery after a crash would apply it."""
    async with opened(tmp_path / "meta.db", settings) as store:
        await put(store, "/a", b"before")
        vfs.syncs_to_fail = 1
        with pytest.raises(Unavailable):
            await store.commit(D, [], [Put("/a", b"doubtful")])
        crashed = _copy_as_after_a_crash(tmp_path)
    async with opened(crashed) as store:
        assert await value_of(store, "/a") == b"before"


async def test_commit_that_happened_despite_an_error_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really_commit = transaction.commit
    errors = [apsw.IOError("COMMIT returned an error")]

    def commit_then_fail(db: apsw.Connection) -> None:
        really_commit(db)
        if errors:
            raise errors.pop()

    async with opened(tmp_path / "meta.db") as store:
        await put(store, "/before")
        monkeypatch.setattr(transaction, "commit", commit_then_fail)
        version = await put(store, "/a", b"1")
        assert errors == []
        entry = await store.get(D, "/a")
        assert entry is not None
        assert (entry.value, entry.version) == (b"1", version)


async def test_undeterminable_outcome_is_unknown(tmp_path: Path, vfs: FaultyVfs) -> None:
    settings = SqliteMetaSettings(vfs=vfs.name, wait_ms=300)
    async with opened(tmp_path / "meta.db", settings) as store:
        await put(store, "/a", b"before")
        vfs.syncs_to_fail = 1_000
        with pytest.raises(OutcomeUnknown):
            await store.commit(D, [], [Put("/a", b"doubtful")])
        vfs.syncs_to_fail = 0


async def test_full_disk_refuses_commits_until_there_is_space(
    tmp_path: Path, vfs: FaultyVfs, settings: SqliteMetaSettings
) -> None:
    path = tmp_path / "meta.db"
    async with opened(path, settings) as store:
        await put(store, "/a", b"before")
        vfs.full = True
        for _ in range(3):
            with pytest.raises(StoreUnusable, match=r"meta\.db.*disk is full") as failure:
                await store.commit(D, [], [Put("/a", b"lost")])
            assert str(path) in str(failure.value)
        assert await value_of(store, "/a") == b"before"
        vfs.full = False
        await put(store, "/a", b"after")
        assert await value_of(store, "/a") == b"after"
    assert _intact(path)


async def test_commit_refused_by_sqlite_does_not_affect_its_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really_write = transaction._write_entries

    def refuse_one(db: apsw.Connection, plan: GroupPlan) -> None:
        really_write(db, plan)
        if any("/refused" in keys for keys in plan.final.values()):
            raise apsw.TooBigError("too big")

    monkeypatch.setattr(transaction, "_write_entries", refuse_one)
    async with opened(tmp_path / "meta.db") as store:
        lock = WriteLock(tmp_path / "meta.db")
        keys = ["/1", "/2", "/refused", "/3"]
        with lock.held():  # so that they form one group
            commits = asyncio.gather(
                *(store.commit(D, [], [Put(key, b"")]) for key in keys), return_exceptions=True
            )
            await asyncio.sleep(0)
        outcomes = await commits
        lock.close()
        assert [type(outcome) for outcome in outcomes] == [Versions, Versions, StoreUnusable, Versions]
        assert [entry.key for entry in await store.scan(D, "/", "/~")] == ["/1", "/2", "/3"]


async def test_too_large_commit_is_refused(tmp_path: Path) -> None:
    settings = SqliteMetaSettings(commit_bytes_max=1000)
    async with opened(tmp_path / "meta.db", settings) as store:
        with pytest.raises(CommitTooLarge, match="1001"):
            await store.commit(D, [], [Put("/a", bytes(999))])
        await put(store, "/a", bytes(998))


def _copy_as_after_a_crash(directory: Path) -> Path:
    """Copy the file and its WAL as a power failure would leave them, and return the copied file."""
    copy = directory / "crashed"
    copy.mkdir()
    for name in ("meta.db", "meta.db-wal"):
        shutil.copy(directory / name, copy / name)
    return copy / "meta.db"


def _intact(path: Path) -> bool:
    db = apsw.Connection(str(path))
    found = db.execute("PRAGMA integrity_check").fetchall()
    db.close()
    return found == [("ok",)]


_SIZE_LIMIT = """
import asyncio, resource, sys
from pathlib import Path
from dray.ids import Domain
from dray.meta.port import Put, StoreUnusable
from dray.meta.sqlite import SqliteMetaStore
from dray.runtime import SystemClock, SystemEntropy, Tasks

async def main():
    tasks = Tasks()
    store = await SqliteMetaStore.open(
        Path(sys.argv[1]), clock=SystemClock(), entropy=SystemEntropy(), tasks=tasks
    )
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limits[1]))
    try:
        for n in range(1000):
            await store.commit(Domain("d"), [], [Put(f"/{n:04}", bytes(3000))])
    except StoreUnusable as error:
        print("refused:", error)
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    await store.commit(Domain("d"), [], [Put("/after", b"1")])
    entries = await store.scan(Domain("d"), "/", "/~")
    print("kept:", [entry.key for entry in entries] == [f"/{i:04}" for i in range(n)] + ["/after"])
    await store.close()
    await tasks.stop()

asyncio.run(main())
"""


async def test_file_size_limit_refuses_commits_until_it_is_raised(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _SIZE_LIMIT, str(path), stdout=asyncio.subprocess.PIPE
    )
    printed = (await process.communicate())[0].decode()
    assert process.returncode == 0
    assert f"refused: the metadata file {path} cannot be used" in printed
    assert "disk is full" in printed
    assert "kept: True" in printed
    assert _intact(path)
