"""The SQLite store's history of commits."""

from pathlib import Path
from typing import TypeVar

import pytest

from dray.meta.sqlite import SqliteMetaSettings
from dray.meta.sqlite.history import COMMITS_BETWEEN_TRIMS
from dray.meta.sqlite.reader import Query
from dray.meta.sqlite.writer import Writer
from dray.meta.watching import LoggedCommit
from dray.testing.contracts.meta_harness import D, changes_until, next_batch, put
from tests.meta.sqlite_harness import opened

T = TypeVar("T")


@pytest.mark.parametrize(
    "settings", [SqliteMetaSettings(history_commits_max=20), SqliteMetaSettings(history_s=-1)]
)
async def test_watcher_before_the_trimmed_history_has_a_gap(
    tmp_path: Path, settings: SqliteMetaSettings
) -> None:
    async with opened(tmp_path / "meta.db", settings) as store:
        async with store.watch(D, "/") as batches:
            old = (await next_batch(batches)).position
        for n in range(COMMITS_BETWEEN_TRIMS):
            await put(store, f"/{n}")
        async with store.watch(D, "/") as batches:
            recent = (await next_batch(batches)).position
        version = await put(store, "/last")
        async with store.watch(D, "/", old) as batches:
            assert (await next_batch(batches)).gap
        async with store.watch(D, "/", recent) as batches:
            assert await changes_until(batches, "/last") == {"/last": version}


async def test_untrimmed_history_has_no_gap(tmp_path: Path) -> None:
    async with opened(tmp_path / "meta.db") as store:
        async with store.watch(D, "/") as batches:
            old = (await next_batch(batches)).position
        for n in range(COMMITS_BETWEEN_TRIMS + 1):
            await put(store, f"/{n}")
        async with store.watch(D, "/", old) as batches:
            assert len(await changes_until(batches, "/256")) == COMMITS_BETWEEN_TRIMS + 1


async def test_watcher_that_lags_too_far_has_a_gap(tmp_path: Path) -> None:
    async with opened(tmp_path / "meta.db", SqliteMetaSettings(catch_up_commits_max=5)) as store:
        async with store.watch(D, "/") as batches:
            old = (await next_batch(batches)).position
        for n in range(5):
            await put(store, f"/{n}")
        async with store.watch(D, "/", old) as batches:
            assert len(await changes_until(batches, "/4")) == 5
        await put(store, "/5")
        async with store.watch(D, "/", old) as batches:
            assert (await next_batch(batches)).gap


async def test_position_of_another_file_is_a_gap(tmp_path: Path) -> None:
    async with opened(tmp_path / "one.db") as store, store.watch(D, "/") as batches:
        await next_batch(batches)
        await put(store, "/a")
        foreign = (await next_batch(batches)).position
    async with opened(tmp_path / "other.db") as store, store.watch(D, "/", foreign) as batches:
        assert (await next_batch(batches)).gap


async def test_slow_watcher_gets_the_last_change_of_each_key(tmp_path: Path) -> None:
    async with opened(tmp_path / "meta.db") as store, store.watch(D, "/") as batches:
        await next_batch(batches)
        versions = [await put(store, "/a") for _ in range(20)]
        end = await put(store, "/end")
        assert await changes_until(batches, "/end") == {"/a": versions[-1], "/end": end}


async def test_own_commits_are_reported_directly_and_others_from_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = SqliteMetaSettings(poll_ms=3_600_000)
    queries: list[object] = []
    async with (
        opened(tmp_path / "meta.db", slow) as ours,
        opened(tmp_path / "meta.db") as other,
        ours.watch(D, "/") as batches,
    ):
        await next_batch(batches)
        await put(ours, "/0")
        await changes_until(batches, "/0")
        now = ours._reader.now

        def counted(query: Query[T]) -> T:
            queries.append(query)
            return now(query)

        monkeypatch.setattr(ours._reader, "now", counted)
        own = await put(ours, "/1")
        assert await changes_until(batches, "/1") == {"/1": own}
        assert not queries
        others = await put(other, "/2")
        own = await put(ours, "/3")
        assert await changes_until(batches, "/3") == {"/2": others, "/3": own}
        assert queries


async def test_own_commit_that_was_polled_already_triggers_no_poll(tmp_path: Path) -> None:
    slow = SqliteMetaSettings(poll_ms=3_600_000)
    async with opened(tmp_path / "meta.db", slow) as store, store.watch(D, "/") as batches:
        await next_batch(batches)
        version = await put(store, "/0")
        await changes_until(batches, "/0")
        feed = store._feed
        feed.committed([LoggedCommit(version, D, (("/0", version),))])
        assert not feed._woken.is_set()
        feed.committed([LoggedCommit(version + 2, D, ())])
        assert feed._woken.is_set()


async def test_file_is_polled_ahead_of_own_commits_only_if_others_came_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = SqliteMetaSettings(poll_ms=3_600_000)
    async with opened(tmp_path / "meta.db", slow) as store, store.watch(D, "/") as batches:
        await next_batch(batches)
        version = await put(store, "/0")
        await changes_until(batches, "/0")
        queries: list[object] = []
        now = store._reader.now

        def counted(query: Query[T]) -> T:
            queries.append(query)
            return now(query)

        monkeypatch.setattr(store._reader, "now", counted)
        monkeypatch.setattr(Writer, "delivers_soon", True)
        store._feed._poll()
        assert not queries
        store._feed.committed([LoggedCommit(version + 2, D, ())])
        store._feed._poll()
        assert queries
