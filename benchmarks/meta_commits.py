"""How many commits per second the SQLite metadata store makes durable, by the number of concurrent callers.

Each commit is that of a small WAL object: one check, three puts of 300 bytes, fsync on.
"""

import argparse
import asyncio
import platform
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import apsw

from dray.meta.port import ABSENT, Check, Domain, Put, Version, Versions
from dray.meta.sqlite import SqliteMetaStore
from dray.runtime import SystemClock, SystemEntropy, Tasks

CALLERS = (1, 10, 100)
VALUE = b"v" * 300
DOMAIN = Domain("0")


@dataclass(frozen=True, slots=True)
class Result:
    callers: int
    commits_per_s: float
    p50_ms: float
    p99_ms: float


def run(*, seconds: float, directory: Path) -> list[Result]:
    """Measure for `seconds` in all, with files under `directory`."""
    return [
        asyncio.run(_measure(directory / f"{callers}-callers.db", callers, seconds / len(CALLERS)))
        for callers in CALLERS
    ]


async def _measure(path: Path, callers: int, seconds: float) -> Result:
    tasks = Tasks()
    store = await SqliteMetaStore.open(path, clock=SystemClock(), entropy=SystemEntropy(), tasks=tasks)
    took: list[float] = []
    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for caller in range(callers):
            group.create_task(_commit_until(began + seconds, store, caller, took))
    elapsed = time.perf_counter() - began
    await store.close()
    await tasks.stop()
    took.sort()
    return Result(
        callers, len(took) / elapsed, took[len(took) // 2] * 1000, took[int(len(took) * 0.99)] * 1000
    )


async def _commit_until(end: float, store: SqliteMetaStore, caller: int, took: list[float]) -> None:
    """Append to one stream: move its head, add an index entry and a note of the object."""
    head, version, number = f"/dray/v1/streams/{caller:04}/head", ABSENT, 0
    while (began := time.perf_counter()) < end:
        number += 1
        writes = [
            Put(head, VALUE),
            Put(f"/dray/v1/streams/{caller:04}/index/{number:020}", VALUE),
            Put(f"/dray/v1/wal/{caller:04}-{number:020}", VALUE),
        ]
        outcome = await store.commit(DOMAIN, [Check(head, version)], writes)
        assert isinstance(outcome, Versions)
        version = Version(outcome.of[0])
        took.append(time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0)
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as directory:
        results = run(seconds=parser.parse_args().seconds, directory=Path(directory))
    print(f"{platform.machine()}, Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}")
    for result in results:
        print(
            f"{result.callers:4} callers: {result.commits_per_s:8.0f} commits/s, "
            f"p50 {result.p50_ms:.2f} ms, p99 {result.p99_ms:.2f} ms"
        )


if __name__ == "__main__":
    main()
