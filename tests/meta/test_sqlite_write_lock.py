"""Waiting for the write lock of the metadata file."""

import asyncio
from pathlib import Path

import pytest

from dray.meta.port import Put, Unavailable
from dray.meta.sqlite import SqliteMetaSettings
from dray.meta.sqlite.write_lock import WriteLock
from dray.testing.contracts.meta_harness import D, put, value_of
from tests.meta.sqlite_harness import opened


async def test_commit_that_times_out_waiting_for_the_lock_never_happens(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    async with opened(path, SqliteMetaSettings(wait_ms=100)) as store:
        await put(store, "/a", b"before")
        other = WriteLock(path)
        with other.held(), pytest.raises(Unavailable, match="timed out waiting for the write lock"):
            await store.commit(D, [], [Put("/a", b"late")])
        other.close()
        await put(store, "/b")  # a leftover request would have been executed first
        assert await value_of(store, "/a") == b"before"


async def test_commit_cancelled_before_it_begins_never_happens(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    async with opened(path) as store:
        other = WriteLock(path)
        with other.held():
            async with asyncio.TaskGroup() as group:
                commit = group.create_task(store.commit(D, [], [Put("/a", b"cancelled")]))
                await asyncio.sleep(0)
                commit.cancel()
        other.close()
        await put(store, "/b")
        assert await value_of(store, "/a") is None


async def test_reads_do_not_wait_for_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    async with opened(path) as store:
        await put(store, "/a", b"1")
        other = WriteLock(path)
        with other.held():
            async with asyncio.TaskGroup() as group:
                commit = group.create_task(store.commit(D, [], [Put("/a", b"2")]))
                await asyncio.sleep(0)
                assert await value_of(store, "/a") == b"1"
                assert [entry.value for entry in await store.scan(D, "/", "/~")] == [b"1"]
                assert not commit.done()
                commit.cancel()
        other.close()


async def test_close_refuses_commits_that_have_not_begun(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    async with opened(path, SqliteMetaSettings(wait_ms=300)) as store:
        other = WriteLock(path)
        with other.held():
            async with asyncio.TaskGroup() as group:
                refused = group.create_task(_refused(store.commit(D, [], [Put("/a", b"1")])))
                await asyncio.sleep(0)
                group.create_task(store.close())
                await refused
        other.close()


async def _refused(commit: object) -> None:
    with pytest.raises(Unavailable, match="closed"):
        await commit  # type: ignore[misc]


async def test_open_does_not_wait_forever_for_the_write_lock(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    async with opened(path) as store:
        await put(store, "/a", b"there")
    other = WriteLock(path)
    with other.held(), pytest.raises(Unavailable, match="does not release it"):
        async with opened(path, SqliteMetaSettings(wait_ms=100)):
            pass
    other.close()
    async with opened(path, SqliteMetaSettings(wait_ms=100)) as store:
        assert await value_of(store, "/a") == b"there"
