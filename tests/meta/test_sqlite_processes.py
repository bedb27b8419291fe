"""Several processes on one metadata file, some of which are killed."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import apsw
import pytest

from dray.meta.port import MetaStore
from dray.testing.contracts.meta_harness import D, changes_until, next_batch
from tests.meta.sqlite_harness import opened

PROGRAM = Path(__file__).parent / "committing_process.py"
COUNTERS = 3
ENDLESS = 10_000_000


async def start(path: Path, name: str, commits: int = ENDLESS) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, str(PROGRAM), str(path), name, str(COUNTERS), str(commits), stdout=PIPE
    )


async def acknowledged(process: Process) -> int:
    """Return the number of the next commit that the process acknowledges."""
    assert process.stdout is not None
    return int(await process.stdout.readline())


async def killed_after(process: Process, commits: int) -> int:
    """Kill the process after that many commits, and return the last one that it acknowledged."""
    seen = [await acknowledged(process) for _ in range(commits)]
    process.kill()
    assert process.stdout is not None
    rest = (await process.stdout.read()).split()
    await process.wait()
    whole = [int(number) for number in rest[:-1]]  # the last line may be incomplete
    return max(seen + whole)


@pytest.mark.slow
async def test_kills_lose_no_acknowledged_commit(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    steady = [await start(path, name) for name in ("one", "two")]
    last = {"one": -1, "two": -1, "victim": -1}
    for commits in (1, 7, 20, 3, 11):
        last["victim"] = await killed_after(await start(path, "victim"), commits)
    for name, process in zip(("one", "two"), steady, strict=True):
        last[name] = await killed_after(process, 5)
    async with opened(path) as store:
        logged = {name: await _logged(store, name) for name in last}
        for name, number in last.items():
            assert logged[name] == list(range(len(logged[name])))
            # Two more may exist: one with an incomplete line, and one committed just before the kill.
            assert number + 1 <= len(logged[name]) <= number + 3
        counters = [int(entry.value) for entry in await store.scan(D, "/n/", "/n/~")]
        assert sum(counters) == 2 * sum(map(len, logged.values()))
    assert _integrity(path) == [("ok",)]


async def test_watch_reports_commits_of_another_process(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    async with opened(path) as store, store.watch(D, "/log/") as batches:
        await next_batch(batches)
        process = await start(path, "other", commits=5)
        changes = await changes_until(batches, "/log/other/00000004")
        assert sorted(changes) == [f"/log/other/{n:08}" for n in range(5)]
        assert await process.wait() == 0


async def test_killed_process_releases_the_write_lock(tmp_path: Path) -> None:
    """A process killed at any moment, even while it holds the lock, must not block other writers."""
    path = tmp_path / "meta.db"
    async with opened(path) as store:
        for _ in range(3):
            process = await start(path, "victim")
            await killed_after(process, 3)
            async with asyncio.timeout(5):
                await store.commit(D, [], [])


async def _logged(store: MetaStore, name: str) -> list[int]:
    found = await store.scan(D, f"/log/{name}/", f"/log/{name}/~")
    return [int(entry.key.rsplit("/", 1)[1]) for entry in found]


def _integrity(path: Path) -> list[tuple[object, ...]]:
    db = apsw.Connection(str(path))
    found = db.execute("PRAGMA integrity_check").fetchall()
    db.close()
    return found
