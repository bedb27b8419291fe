"""Waiting for one's turn to write the metadata file."""

import asyncio
from pathlib import Path

import pytest

from dray.meta.port import Put, Unavailable
from dray.meta.sqlite import SqliteMetaSettings
from dray.meta.sqlite.turn import Turn
from dray.testing.contracts.meta_harness import D, put, value_of
from tests.meta.sqlite_harness import opened


async def test_a_commit_whose_turn_does_not_come_has_not_happened_and_never_will(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    async with opened(path, SqliteMetaSettings(wait_ms=100)) as store:
        await put(store, "/a", b"before")
        stranger = Turn(path)
        with stranger.held(), pytest.raises(Unavailable, match="turn"):
            await store.commit(D, [], [Put("/a", b"late")])
        stranger.close()
        await put(store, "/b")  # whatever was left in the queue would have gone first
        assert await value_of(store, "/a") == b"before"


async def test_a_cancelled_commit_that_was_not_begun_never_happens(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    async with opened(path) as store:
        stranger = Turn(path)
        with stranger.held():
            async with asyncio.TaskGroup() as group:
                commit = group.create_task(store.commit(D, [], [Put("/a", b"cancelled")]))
                await asyncio.sleep(0)
                commit.cancel()
        stranger.close()
        await put(store, "/b")
        assert await value_of(store, "/a") is None


async def test_reads_do_not_wait_for_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    async with opened(path) as store:
        await put(store, "/a", b"1")
        stranger = Turn(path)
        with stranger.held():
            async with asyncio.TaskGroup() as group:
                commit = group.create_task(store.commit(D, [], [Put("/a", b"2")]))
                await asyncio.sleep(0)
                assert await value_of(store, "/a") == b"1"
                assert [entry.value for entry in await store.scan(D, "/", "/~")] == [b"1"]
                assert not commit.done()
                commit.cancel()
        stranger.close()


async def test_closing_refuses_commits_that_were_not_begun(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    async with opened(path, SqliteMetaSettings(wait_ms=300)) as store:
        stranger = Turn(path)
        with stranger.held():
            async with asyncio.TaskGroup() as group:
                refused = group.create_task(_refused(store.commit(D, [], [Put("/a", b"1")])))
                await asyncio.sleep(0)
                group.create_task(store.close())
                await refused
        stranger.close()


async def _refused(commit: object) -> None:
    with pytest.raises(Unavailable, match="closed"):
        await commit  # type: ignore[misc]


async def test_opening_does_not_wait_for_ever_for_who_does_not_let_go(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    async with opened(path) as store:
        await put(store, "/a", b"there")
    stranger = Turn(path)
    with stranger.held(), pytest.raises(Unavailable, match="does not let go"):
        async with opened(path, SqliteMetaSettings(wait_ms=100)):
            pass
    stranger.close()
    async with opened(path, SqliteMetaSettings(wait_ms=100)) as store:
        assert await value_of(store, "/a") == b"there"
