"""The contract of object stores: tests that every backend must pass.

A test module subclasses `ObjectContract` and provides the fixture `store`, an empty store per test:

    class TestMemory(ObjectContract):
        @pytest.fixture
        def store(self) -> ObjectStore: ...

A slow backend lowers `listed`. A backend that lists folder by folder sets `lists_by_folder`: it sorts `a/x`
before `a-b`, and nothing in folder `a` after `a` (SeaweedFS). A backend that retries puts over an unreliable
network sets `same_bytes_are_ours`: it cannot distinguish its own earlier attempt from another put of the same
bytes.
"""

import asyncio
from collections.abc import Sequence
from typing import ClassVar

import pytest
from typing_extensions import Buffer

from dray.objects.port import AlreadyExists, ByteRange, NotFound, ObjectStore, OutOfRange

MIB = 1024 * 1024


async def paths_of(store: ObjectStore, prefix: str, after: str = "") -> list[str]:
    return [info.path async for info in store.list(prefix, after)]


def joined(buffers: Sequence[Buffer]) -> list[bytes]:
    return [bytes(buffer) for buffer in buffers]


class ObjectContract:
    """The tests; only the class attributes depend on the backend."""

    listed: ClassVar[int] = 1_100
    lists_by_folder: ClassVar[bool] = False
    same_bytes_are_ours: ClassVar[bool] = False

    async def test_put_object_is_read_back(self, store: ObjectStore) -> None:
        await store.put_new("wal/v1/a.wo", [b"one object"])
        assert bytes(await store.get("wal/v1/a.wo")) == b"one object"

    async def test_parts_are_concatenated(self, store: ObjectStore) -> None:
        parts = [b"%d," % n for n in range(3_000)]
        await store.put_new("many", parts)
        assert bytes(await store.get("many")) == b"".join(parts)

    async def test_part_may_be_any_contiguous_buffer(self, store: ObjectStore) -> None:
        inside = memoryview(b"-middle-")[1:7]
        await store.put_new("kinds", [b"bytes ", bytearray(b"array "), inside, b"", memoryview(b"")])
        assert bytes(await store.get("kinds")) == b"bytes array middle"

    async def test_object_does_not_alias_its_buffer(self, store: ObjectStore) -> None:
        buffer = bytearray(b"before")
        await store.put_new("kept", [buffer])
        buffer[:] = b"after!"
        assert bytes(await store.get("kept")) == b"before"

    async def test_read_buffer_is_read_only(self, store: ObjectStore) -> None:
        await store.put_new("kept", [b"0123456789"])
        whole = await store.get("kept")
        [some] = await store.get_ranges("kept", [ByteRange(2, 3)])
        assert memoryview(whole).readonly
        assert memoryview(some).readonly

    async def test_object_may_be_empty(self, store: ObjectStore) -> None:
        await store.put_new("empty", [])
        assert bytes(await store.get("empty")) == b""
        assert (await store.head("empty")).size_bytes == 0
        assert await paths_of(store, "") == ["empty"]

    async def test_range_of_an_empty_object_is_an_error(self, store: ObjectStore) -> None:
        await store.put_new("empty", [])
        with pytest.raises(OutOfRange):
            await store.get_ranges("empty", [ByteRange(0, 1)])

    async def test_object_may_be_large(self, store: ObjectStore) -> None:
        block = bytes(range(256)) * (MIB // 256)
        await store.put_new("large", [block] * 8)
        assert (await store.head("large")).size_bytes == 8 * MIB
        assert bytes(await store.get("large")) == block * 8
        across = ByteRange(3 * MIB - 5, MIB + 10)
        [some] = await store.get_ranges("large", [across])
        assert bytes(some) == block[-5:] + block + block[:5]

    async def test_ranges_are_returned_in_the_requested_order(self, store: ObjectStore) -> None:
        await store.put_new("ranges", [b"abcdefghij"])
        asked = [ByteRange(8, 2), ByteRange(0, 3), ByteRange(1, 4), ByteRange(0, 10), ByteRange(0, 3)]
        got = await store.get_ranges("ranges", asked)
        assert joined(got) == [b"ij", b"abc", b"bcde", b"abcdefghij", b"abc"]
        assert await store.get_ranges("ranges", []) == []

    async def test_many_ranges_in_one_call(self, store: ObjectStore) -> None:
        data = bytes(range(256)) * 64
        await store.put_new("ranges", [data])
        asked = [ByteRange(n * 37 % 16_000, n % 300 + 1) for n in range(200)]
        got = await store.get_ranges("ranges", asked)
        assert joined(got) == [data[wanted.start : wanted.end] for wanted in asked]

    @pytest.mark.parametrize("outside", [ByteRange(9, 2), ByteRange(10, 1), ByteRange(50, 5)])
    async def test_range_outside_the_object_is_an_error(self, store: ObjectStore, outside: ByteRange) -> None:
        await store.put_new("ranges", [b"0123456789"])
        with pytest.raises(OutOfRange):
            await store.get_ranges("ranges", [ByteRange(0, 10), outside])

    @pytest.mark.parametrize("invalid", [ByteRange(0, 0), ByteRange(-1, 2), ByteRange(3, -1)])
    async def test_invalid_range_is_refused(self, store: ObjectStore, invalid: ByteRange) -> None:
        await store.put_new("ranges", [b"0123456789"])
        with pytest.raises(ValueError, match="range"):
            await store.get_ranges("ranges", [invalid])

    async def test_missing_object_is_not_found(self, store: ObjectStore) -> None:
        await store.put_new("folder/object", [b"1"])
        for path in ("nothing", "folder/other", "folder"):
            with pytest.raises(NotFound):
                await store.get(path)
            with pytest.raises(NotFound):
                await store.get_ranges(path, [ByteRange(0, 1)])
            with pytest.raises(NotFound):
                await store.head(path)

    async def test_head_returns_size_and_time(self, store: ObjectStore) -> None:
        await store.put_new("first", [b"12345"])
        await store.put_new("second", [b"1"])
        first, second = await store.head("first"), await store.head("second")
        assert (first.path, first.size_bytes) == ("first", 5)
        assert 0 < first.modified_ms <= second.modified_ms
        assert [info async for info in store.list("")] == [first, second]

    async def test_put_never_overwrites(self, store: ObjectStore) -> None:
        await store.put_new("once", [b"first"])
        with pytest.raises(AlreadyExists):
            await store.put_new("once", [b"second"])
        if not self.same_bytes_are_ours:
            with pytest.raises(AlreadyExists):
                await store.put_new("once", [b"first"])
        assert bytes(await store.get("once")) == b"first"

    async def test_one_of_several_creators_wins(self, store: ObjectStore) -> None:
        async def create(name: int) -> int | None:
            try:
                await store.put_new("contended", [b"%04d" % name] * 1_000)
            except AlreadyExists:
                return None
            return name

        outcomes = await asyncio.gather(*(create(name) for name in range(16)))
        [winner] = [name for name in outcomes if name is not None]
        assert bytes(await store.get("contended")) == b"%04d" % winner * 1_000

    async def test_large_object_is_never_overwritten(self, store: ObjectStore) -> None:
        async def create(name: int) -> bool:
            try:
                await store.put_new("large", [bytes([name]) * MIB] * 8)
            except AlreadyExists:
                return False
            return True

        outcomes = await asyncio.gather(*(create(name) for name in range(4)))
        assert outcomes.count(True) == 1
        assert set(bytes(await store.get("large"))) == {outcomes.index(True)}
        assert not await create(9)

    async def test_object_is_never_visible_in_part(self, store: ObjectStore) -> None:
        seen: list[int] = []

        async def look() -> None:
            while not seen or seen[-1] < 0:
                try:
                    seen.append((await store.head("slow")).size_bytes)
                except NotFound:
                    seen.append(-1)
                    # Stores in memory never suspend; let the writer run.
                    await asyncio.sleep(0)

        async with asyncio.TaskGroup() as group:
            group.create_task(look())
            group.create_task(store.put_new("slow", [bytes(MIB)] * 8))
        assert seen[-1] == 8 * MIB

    async def test_list_is_in_byte_order(self, store: ObjectStore) -> None:
        names = ["a/x", "a/y/z", "a0", "b", "B", "a=1/p", "ab/c", "a/y1"]
        if not self.lists_by_folder:
            names += ["a-b", "a.b", "a b/c", "a,"]
        for name in names:
            await store.put_new(name, [b"1"])
        assert await paths_of(store, "") == sorted(names)

    async def test_list_matches_a_prefix(self, store: ObjectStore) -> None:
        for name in ("wal/v1/a", "wal/v1/ab", "wal/v10/c", "wal/v2/d", "wax", "x/wal/v1/e"):
            await store.put_new(name, [b"1"])
        assert await paths_of(store, "wal/v1/") == ["wal/v1/a", "wal/v1/ab"]
        assert await paths_of(store, "wal/v1") == ["wal/v1/a", "wal/v1/ab", "wal/v10/c"]
        assert await paths_of(store, "wa") == ["wal/v1/a", "wal/v1/ab", "wal/v10/c", "wal/v2/d", "wax"]
        assert await paths_of(store, "wal/v1/a") == ["wal/v1/a", "wal/v1/ab"]
        assert await paths_of(store, "wal/v3/") == []

    async def test_list_begins_after_a_path(self, store: ObjectStore) -> None:
        names = ["a", "b/1", "b/2", "b/3", "b2/1", "c"]
        for name in names:
            await store.put_new(name, [b"1"])
        folders = [] if self.lists_by_folder else ["b", "b2", "b/"]
        for after in ["", "0", "a", "b/1", "b/15", "b/3", "c", "d", *folders]:
            assert await paths_of(store, "", after) == [name for name in names if name > after]
            assert await paths_of(store, "b/", after) == [name for name in names[1:4] if name > after]

    async def test_list_of_more_than_one_page(self, store: ObjectStore) -> None:
        names = [f"page/{n // 100:03}/{n:05}" for n in range(self.listed)]
        for start in range(0, len(names), 50):
            await asyncio.gather(*(store.put_new(name, [b""]) for name in names[start : start + 50]))
        assert await paths_of(store, "page/") == names
        assert await paths_of(store, "page/", names[len(names) // 2]) == names[len(names) // 2 + 1 :]

    @pytest.mark.parametrize(
        "path",
        ["k=v/x+y", "two words/a b", "!$&'()*,-.:;?@_", "UPPER/lower", "d=2026/11/15/1-2.wo", "x" * 255],
    )
    async def test_unusual_paths_are_accepted(self, store: ObjectStore, path: str) -> None:
        await store.put_new(path, [b"unusual"])
        assert bytes(await store.get(path)) == b"unusual"
        assert joined(await store.get_ranges(path, [ByteRange(2, 5)])) == [b"usual"]
        assert (await store.head(path)).path == path
        assert await paths_of(store, "") == [path]
        await store.delete(path)
        assert await paths_of(store, "") == []

    @pytest.mark.parametrize(
        "path",
        ["", "/", "/a", "a/", "a//b", ".", "..", "a/./b", "../a", ".h", "a/.b", "tab\t", "new\n", "nul\0"]
        + [f"a{c}b" for c in '\\{}^%`[]"<>~#|\x7fé'] + ["x" * 256, "/".join(["x" * 100] * 8)],
    )  # fmt: skip
    async def test_invalid_paths_are_refused(self, store: ObjectStore, path: str) -> None:
        with pytest.raises(ValueError, match="path"):
            await store.put_new(path, [b"1"])
        with pytest.raises(ValueError, match="path"):
            await store.get(path)
        with pytest.raises(ValueError, match="path"):
            await store.get_ranges(path, [ByteRange(0, 1)])
        with pytest.raises(ValueError, match="path"):
            await store.head(path)
        with pytest.raises(ValueError, match="path"):
            await store.delete(path)

    @pytest.mark.parametrize("prefix", ["..", "../", "a/../b", "/", "a//", ".h"])
    async def test_invalid_prefixes_are_refused(self, store: ObjectStore, prefix: str) -> None:
        with pytest.raises(ValueError, match="path"):
            await paths_of(store, prefix)

    async def test_delete_is_idempotent(self, store: ObjectStore) -> None:
        await store.put_new("gone", [b"1"])
        await store.put_new("stays", [b"2"])
        await store.delete("gone")
        await store.delete("gone")
        await store.delete("never/was")
        with pytest.raises(NotFound):
            await store.get("gone")
        assert await paths_of(store, "") == ["stays"]
        await store.put_new("gone", [b"again"])
        assert bytes(await store.get("gone")) == b"again"
