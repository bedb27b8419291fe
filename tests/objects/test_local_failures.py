"""A directory that is full, forbidden, missing or not a directory."""

import asyncio
import errno
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from dray.objects.local import LocalObjects, LocalSettings
from dray.objects.port import ByteRange, NotFound, StoreUnusable, Unavailable
from dray.testing.contracts.objects import paths_of


def files_in(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


DISK_FULL = """
import asyncio, pathlib, resource, sys
from dray.objects.local import LocalObjects
from dray.objects.port import StoreUnusable

async def main():
    store = await LocalObjects.open(pathlib.Path(sys.argv[1]))
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    try:
        await store.put_new("large", [bytes(400_000)] * 5)
    except StoreUnusable as error:
        print(error)
    await store.put_new("small", [bytes(400_000)])
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    await store.put_new("later", [bytes(400_000)] * 5)
    await store.close()

asyncio.run(main())
"""


def test_puts_succeed_again_after_a_full_disk(tmp_path: Path) -> None:
    command = [sys.executable, "-c", DISK_FULL, str(tmp_path)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert f"no space for {tmp_path}/large: File too large; free some space, or raise the quota" in printed
    assert files_in(tmp_path) == ["later", "small"]
    assert (tmp_path / "later").stat().st_size == 2_000_000


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
async def test_full_disk_leaves_no_partial_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    whole = os.writev
    store = await LocalObjects.open(tmp_path)

    def until_full(descriptor: int, buffers: Sequence[memoryview]) -> int:
        if os.fstat(descriptor).st_size:
            raise OSError(code, os.strerror(code))
        return whole(descriptor, [buffers[0][:100]])

    with monkeypatch.context() as full:
        full.setattr(os, "writev", until_full)
        with pytest.raises(StoreUnusable, match=f"no space for {tmp_path}/a/b"):
            await store.put_new("a/b", [bytes(1000)])
    assert files_in(tmp_path) == []
    await store.put_new("a/b", [bytes(1000)])
    assert files_in(tmp_path) == ["a/b"]
    await store.close()


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES])
async def test_forbidden_directory_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    store = await LocalObjects.open(tmp_path)
    opened = os.open

    def forbidden(path: Path, flags: int, *args: int) -> int:
        if flags & os.O_CREAT:
            raise OSError(code, os.strerror(code))
        return opened(path, flags, *args)

    monkeypatch.setattr(os, "open", forbidden)
    with pytest.raises(StoreUnusable, match=rf"{tmp_path}/x: .*; grant uid \d+ write permission on"):
        await store.put_new("x", [b"1"])
    await store.close()


async def test_too_many_open_files_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await LocalObjects.open(tmp_path)

    def none_left(*_: object) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as exhausted:
        exhausted.setattr(os, "open", none_left)
        with pytest.raises(Unavailable, match="Too many open files"):
            await store.put_new("x", [b"1"])
    await store.close()


async def test_missing_directory_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match=f"the directory {tmp_path}/none is missing: create it, or mount"):
        await LocalObjects.open(tmp_path / "none")


async def test_file_instead_of_the_directory_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreUnusable, match=f"{tmp_path}/file is not a directory"):
        await LocalObjects.open(tmp_path / "file")


async def test_vanished_directory_is_reported_and_not_recreated(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    store = await LocalObjects.open(root)
    await store.put_new("a/b", [b"1"])
    root.rename(tmp_path / "elsewhere")
    with pytest.raises(StoreUnusable, match="is missing"):
        await store.put_new("a/c", [b"1"])
    with pytest.raises(StoreUnusable, match="is missing"):
        await store.get("a/b")
    with pytest.raises(StoreUnusable, match="is missing"):
        await store.head("a/b")
    with pytest.raises(StoreUnusable, match="is missing"):
        await paths_of(store, "a/")
    with pytest.raises(StoreUnusable, match="is missing"):
        await store.delete("a/b")
    assert not root.exists(), "a directory that is not mounted must not be created"
    (tmp_path / "elsewhere").rename(root)
    await store.put_new("a/c", [b"1"])
    assert await paths_of(store, "") == ["a/b", "a/c"]
    await store.close()


async def test_object_and_folder_of_the_same_name_are_refused(tmp_path: Path) -> None:
    store = await LocalObjects.open(tmp_path)
    await store.put_new("a", [b"1"])
    with pytest.raises(StoreUnusable, match="an object has the name of a folder in this path"):
        await store.put_new("a/b", [b"1"])
    with pytest.raises(NotFound):
        await store.get("a/b")
    await store.delete("a/b")
    assert files_in(tmp_path) == ["a"]
    await store.close()


async def test_other_files_are_not_listed(tmp_path: Path) -> None:
    store = await LocalObjects.open(tmp_path)
    await store.put_new("folder/object", [b"1"])
    (tmp_path / "folder" / ".hidden").write_bytes(b"")
    (tmp_path / "folder" / "50%").write_bytes(b"")
    (tmp_path / "folder" / "ümlaut").write_bytes(b"")
    (tmp_path / "lost+found").mkdir()
    [own] = (tmp_path / ".dray-tmp").iterdir()
    (own / "7").write_bytes(b"unfinished")
    assert await paths_of(store, "") == ["folder/object"]
    await store.close()


async def test_truncated_file_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await LocalObjects.open(tmp_path)
    await store.put_new("object", [b"0123456789"])
    read = os.pread
    with monkeypatch.context() as slow:
        slow.setattr(os, "pread", lambda descriptor, length, start: read(descriptor, min(length, 3), start))
        [got] = await store.get_ranges("object", [ByteRange(1, 8)])
        assert bytes(got) == b"12345678"
    with monkeypatch.context() as torn:
        torn.setattr(os, "pread", lambda descriptor, _, start: b"" if start else read(descriptor, 2, start))
        with pytest.raises(Unavailable, match="ended after 2 of 10 bytes"):
            await store.get("object")
    await store.close()


async def test_close_waits_for_running_calls_and_refuses_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await LocalObjects.open(tmp_path, LocalSettings(threads=1))
    loop, syncing, proceed, sync = asyncio.get_running_loop(), asyncio.Event(), threading.Event(), os.fsync

    def sync_later(descriptor: int) -> None:
        loop.call_soon_threadsafe(syncing.set)
        proceed.wait()
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", sync_later)
    puts = [asyncio.create_task(store.put_new(f"object/{n}", [bytes(100_000)])) for n in range(10)]
    await syncing.wait()
    puts[0].cancel()
    closing = asyncio.create_task(store.close())
    done, _ = await asyncio.wait([closing], timeout=0)
    assert not done
    proceed.set()
    await closing
    assert files_in(tmp_path) == [f"object/{n}" for n in range(10)]
    with pytest.raises(StoreUnusable, match="closed"):
        await store.get("object/1")
    await store.close()
    outcomes = await asyncio.gather(*puts, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [asyncio.CancelledError] + [type(None)] * 9


async def test_objects_deleted_during_a_listing_are_omitted(tmp_path: Path) -> None:
    store = await LocalObjects.open(tmp_path)
    names = [f"{n:03}" for n in range(300)]
    for name in names:
        (tmp_path / name).write_bytes(b"")
    listing = store.list("")
    first = await anext(aiter(listing))
    for name in names[280:]:
        await store.delete(name)
    assert [first.path] + [info.path async for info in listing] == names[:280]
    await store.close()
