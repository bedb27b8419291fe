"""Durability of objects in a directory: order of system calls, kill -9, and sweeping."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from dray.objects.local import LocalObjects
from dray.objects.port import AlreadyExists
from dray.testing.contracts.objects import paths_of

Event = tuple[str, str]


def name_of(root: Path, target: int | str | os.PathLike[str]) -> str:
    """Return the path of a call below the root, or `temp` for any unfinished file."""
    path = Path(f"/proc/self/fd/{target}").readlink() if isinstance(target, int) else Path(target)
    relative = str(path.relative_to(root))
    return "temp" if relative.startswith(".dray-tmp/") else relative


@pytest.fixture
def events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """Record the calls that make files durable and visible, in order."""
    seen: list[Event] = []

    def record(call: str, about: int) -> None:
        original: Callable[..., Any] = getattr(os, call)

        def recorded(*args: Any, **options: Any) -> Any:
            result = original(*args, **options)
            seen.append((call, name_of(tmp_path, args[about])))
            return result

        monkeypatch.setattr(os, call, recorded)

    for call, about in (("writev", 0), ("fsync", 0), ("link", 1), ("mkdir", 0), ("unlink", 0)):
        record(call, about)
    return seen


async def test_object_is_synced_before_it_is_visible_and_its_name_before_the_put_returns(
    tmp_path: Path, events: list[Event]
) -> None:
    store = await LocalObjects.open(tmp_path)
    events.clear()
    await store.put_new("a/b/object", [b"one", b"two"])
    assert events == [
        ("writev", "temp"),
        ("fsync", "temp"),
        ("mkdir", "a"),
        ("mkdir", "a/b"),
        ("link", "a/b/object"),
        ("fsync", "a/b"),
        ("fsync", "a"),
        ("fsync", "."),
        ("unlink", "temp"),
    ]
    await store.close()


async def test_known_folder_is_not_synced_up_to_the_root_again(tmp_path: Path, events: list[Event]) -> None:
    store = await LocalObjects.open(tmp_path)
    await store.put_new("a/b/first", [b"1"])
    events.clear()
    await store.put_new("a/b/second", [b"2"])
    assert [event for event in events if event[0] == "fsync"] == [("fsync", "temp"), ("fsync", "a/b")]
    await store.close()


async def test_folder_of_another_process_is_synced_up_to_the_root(
    tmp_path: Path, events: list[Event]
) -> None:
    store = await LocalObjects.open(tmp_path)
    (tmp_path / "a" / "b").mkdir(parents=True)
    events.clear()
    await store.put_new("a/b/object", [b"1"])
    synced = [name for call, name in events if call == "fsync"]
    assert synced == ["temp", "a/b", "a", "."]
    await store.close()


async def test_recreated_folder_is_synced_up_to_the_root_again(tmp_path: Path, events: list[Event]) -> None:
    store = await LocalObjects.open(tmp_path)
    await store.put_new("a/object", [b"1"])
    await store.delete("a/object")
    (tmp_path / "a").rmdir()
    events.clear()
    await store.put_new("a/object", [b"1"])
    assert [name for call, name in events if call == "fsync"] == ["temp", "a", "."]
    await store.close()


async def test_existing_path_is_synced_too(tmp_path: Path, events: list[Event]) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "object").write_bytes(b"linked by one who crashed before he synced the folder")
    store = await LocalObjects.open(tmp_path)
    events.clear()
    with pytest.raises(AlreadyExists):
        await store.put_new("a/object", [b"1"])
    assert ("link", "a/object") not in events
    assert [name for call, name in events if call == "fsync"] == ["temp", "a", "."]
    assert events[-1] == ("unlink", "temp")
    await store.close()


async def test_unsynced_file_is_never_linked(
    tmp_path: Path, events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await LocalObjects.open(tmp_path)
    await store.put_new("a/first", [b"1"])

    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", fail)
        with pytest.raises(Exception, match="check the disk"):
            await store.put_new("a/second", [b"2"])
    assert ("link", "a/second") not in events
    assert await paths_of(store, "") == ["a/first"]
    await store.close()


async def test_partial_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.writev

    def stingy(descriptor: int, buffers: Sequence[memoryview]) -> int:
        assert len(buffers) <= os.sysconf("SC_IOV_MAX")
        return whole(descriptor, [buffers[0][:3]]) if len(buffers[0]) > 3 else whole(descriptor, buffers[:2])

    monkeypatch.setattr(os, "writev", stingy)
    store = await LocalObjects.open(tmp_path)
    parts = [b"x" * (n % 11) for n in range(1_500)] + [b"the end"]
    await store.put_new("object", parts)
    assert bytes(await store.get("object")) == b"".join(parts)
    await store.close()


WRITER = """
import asyncio, os, pathlib, sys, threading
from dray.objects.local import LocalObjects

synced, acknowledged, fsync = 0, 0, os.fsync

def fsync_until_stuck(descriptor):
    global synced
    synced += 1
    if synced > 60 and acknowledged:
        os.write(1, b"stuck\\n")
        threading.Event().wait()
    fsync(descriptor)

async def put(store, number):
    global acknowledged
    await store.put_new(f"put/{number:04}", [b"%04d" % number * 100] * 250)
    os.write(1, b"%d\\n" % number)
    acknowledged += 1

async def main():
    store = await LocalObjects.open(pathlib.Path(sys.argv[1]))
    os.fsync = fsync_until_stuck
    await asyncio.gather(*(put(store, number) for number in range(200)))

asyncio.run(main())
"""


@pytest.fixture
def killed_writer(tmp_path: Path) -> Iterator[set[int]]:
    """Let a process put objects until its disk hangs, then kill it; yield the acknowledged ones."""
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        acknowledged = set()
        for line in process.stdout:
            if line == "stuck\n":
                break
            acknowledged.add(int(line))
        process.send_signal(signal.SIGKILL)
        process.wait()
        yield acknowledged


async def test_kill_9_leaves_complete_objects_and_sweepable_files(
    killed_writer: set[int], tmp_path: Path
) -> None:
    left = [path for path in (tmp_path / ".dray-tmp").rglob("*") if path.is_file()]
    assert left, "the writer was killed with files unfinished"
    store = await LocalObjects.open(tmp_path)
    found = {int(path.removeprefix("put/")) for path in await paths_of(store, "")}
    assert killed_writer
    assert killed_writer <= found
    for number in found:
        assert bytes(await store.get(f"put/{number:04}")) == b"%04d" % number * 25_000
    assert [path for path in (tmp_path / ".dray-tmp").rglob("*") if path.is_file()] == []
    await store.close()
    assert list((tmp_path / ".dray-tmp").iterdir()) == []


async def test_unfinished_files_of_live_processes_are_kept(tmp_path: Path) -> None:
    store = await LocalObjects.open(tmp_path)
    [own] = (tmp_path / ".dray-tmp").iterdir()
    (own / "unfinished").write_bytes(b"half")
    others = await asyncio.gather(*(LocalObjects.open(tmp_path) for _ in range(8)))
    assert (own / "unfinished").read_bytes() == b"half"
    for number, each in enumerate((store, *others)):
        await each.put_new(f"object/{number}", [b"1"])
    assert len(await paths_of(store, "object/")) == 9
    for each in (store, *others):
        await each.close()
