"""The contract of metadata stores: scans."""

import pytest

from dray.meta.port import MetaStore, Put
from dray.testing.contracts.meta_harness import D, commit, put


class ScanContract:
    """A scan covers `start <= key < end` in byte order, among keys with the same number of slashes."""

    async def test_scan_includes_the_start_and_excludes_the_end(self, store: MetaStore) -> None:
        await _make(store, "/a", "/b", "/c", "/d")
        assert await _keys(store, "/b", "/d") == ["/b", "/c"]

    async def test_scan_returns_values_and_versions(self, store: MetaStore) -> None:
        version = await put(store, "/a", b"value")
        (entry,) = await store.scan(D, "/", "/~")
        assert (entry.key, entry.value, entry.version) == ("/a", b"value", version)

    async def test_scan_of_an_empty_range_is_empty(self, store: MetaStore) -> None:
        await _make(store, "/a", "/c")
        assert await _keys(store, "/b", "/c") == []
        assert await _keys(store, "/c", "/c") == []
        assert await _keys(store, "/c", "/a") == []

    async def test_limit_truncates_a_scan(self, store: MetaStore) -> None:
        await _make(store, "/a", "/b", "/c")
        assert await _keys(store, "/", "/~", limit=2) == ["/a", "/b"]
        assert await _keys(store, "/", "/~", limit=9) == ["/a", "/b", "/c"]

    async def test_reverse_scan_begins_at_the_end(self, store: MetaStore) -> None:
        await _make(store, "/a", "/b", "/c", "/d")
        assert await _keys(store, "/a", "/d", reverse=True) == ["/c", "/b", "/a"]
        assert await _keys(store, "/a", "/d", limit=1, reverse=True) == ["/c"]

    async def test_scan_finds_only_keys_with_the_same_number_of_slashes(self, store: MetaStore) -> None:
        await _make(store, "a", "/a", "/b", "/a/1", "/a/2", "/a/1/x", "/a/1/y", "/b/1")
        assert await _keys(store, "/", "/~") == ["/a", "/b"]
        assert await _keys(store, "/a/", "/a/~") == ["/a/1", "/a/2"]
        assert await _keys(store, "/a/", "/c/") == ["/a/1", "/a/2", "/b/1"]
        assert await _keys(store, "/a/1/", "/a/1/~", reverse=True) == ["/a/1/y", "/a/1/x"]
        assert await _keys(store, "a", "b") == ["a"]

    async def test_scan_with_different_numbers_of_slashes_is_refused(self, store: MetaStore) -> None:
        with pytest.raises(ValueError, match="slashes"):
            await store.scan(D, "/a/", "/b")

    async def test_limit_below_one_is_refused(self, store: MetaStore) -> None:
        with pytest.raises(ValueError, match="limit"):
            await store.scan(D, "/a", "/b", limit=0)

    async def test_keys_are_sorted_by_utf8_bytes(self, store: MetaStore) -> None:
        names = ["Z", "a", "z", "~", "é", "ß", "\u2603", "\uffee", "\U0001f4a1", "a b", "a-b", "a.b", "%41"]
        keys = [f"/{name}" for name in names]
        await _make(store, *keys)
        assert await _keys(store, "/", "/\U0010ffff") == sorted(keys, key=str.encode)
        assert await _keys(store, "/é", "/\u2604") == ["/é", "/\u2603"]

    async def test_prefix_of_a_key_sorts_before_it(self, store: MetaStore) -> None:
        await _make(store, "/a1", "/a", "/a10", "/a2")
        assert await _keys(store, "/", "/~") == ["/a", "/a1", "/a10", "/a2"]

    async def test_scan_of_many_keys_is_complete(self, store: MetaStore) -> None:
        keys = [f"/long/{n:04}" for n in range(1_200)]
        for n in range(0, len(keys), 60):
            await commit(store, [Put(key, b"v" * 50) for key in keys[n : n + 60]])
        assert await _keys(store, "/long/", "/long/~") == keys
        assert await _keys(store, "/long/", "/long/~", limit=700) == keys[:700]
        assert await _keys(store, "/long/", "/long/~", limit=700, reverse=True) == keys[:-701:-1]


async def _make(store: MetaStore, *keys: str) -> None:
    await commit(store, [Put(key, b"") for key in keys])


async def _keys(
    store: MetaStore, start: str, end: str, *, limit: int | None = None, reverse: bool = False
) -> list[str]:
    return [entry.key for entry in await store.scan(D, start, end, limit=limit, reverse=reverse)]
