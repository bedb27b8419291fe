"""Durable commits per second of the SQLite metadata store, by number of concurrent callers.

Bar: 5,000 commits/s with 100 callers. Each is the commit of a small WAL object: one check, three puts of 300
bytes, fsync on.

Run it with `python -m benchmarks.meta_commits`.
"""

import asyncio
import tempfile
import time
from pathlib import Path

from benchmarks.figures import Figure, environment
from dray.ids import Domain
from dray.meta.port import ABSENT, Check, MetaStore, Put, Versions
from dray.meta.sqlite import SqliteMetaStore
from dray.runtime import SystemClock, SystemEntropy, Tasks

_BARS = {1: None, 10: None, 100: 5_000.0}
_VALUE = b"v" * 300
_DOMAIN = Domain("0")


def run(*, seconds: float, directory: Path | None = None) -> list[Figure]:
    """Measure for `seconds` in all, with files under `directory`."""
    figures = []
    with tempfile.TemporaryDirectory(dir=directory, prefix="dray-commits-") as name:
        for callers, bar in _BARS.items():
            path = Path(name) / f"{callers}-callers.db"
            took, elapsed = asyncio.run(_measure(path, callers, seconds / len(_BARS)))
            figures += _figures(callers, sorted(took), elapsed, bar)
    return figures


def _figures(callers: int, took: list[float], elapsed: float, bar: float | None) -> list[Figure]:
    what = f"metadata commits, SQLite, {callers} callers"
    return [
        Figure(what, len(took) / elapsed, "commits/s", bar),
        Figure(f"{what}, median", took[len(took) // 2] * 1000, "ms"),
        Figure(f"{what}, 99 of 100", took[len(took) * 99 // 100] * 1000, "ms"),
    ]


async def _measure(path: Path, callers: int, seconds: float) -> tuple[list[float], float]:
    tasks = Tasks()
    store = await SqliteMetaStore.open(path, clock=SystemClock(), entropy=SystemEntropy(), tasks=tasks)
    measured = await commits(store, callers, seconds)
    await store.close()
    await tasks.stop()
    return measured


async def commits(store: MetaStore, callers: int, seconds: float) -> tuple[list[float], float]:
    """Commit with so many callers; returns the time of each commit, and of all together."""
    took: list[float] = []
    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for caller in range(callers):
            group.create_task(_commit_until(began + seconds, store, caller, took))
    return took, time.perf_counter() - began


async def _commit_until(end: float, store: MetaStore, caller: int, took: list[float]) -> None:
    """Append to one stream at least once: move its head, add an index entry and an object record."""
    head, version, number = f"/dray/v1/streams/{caller:04}/head", ABSENT, 0
    while not number or time.perf_counter() < end:
        began = time.perf_counter()
        number += 1
        writes = [
            Put(head, _VALUE),
            Put(f"/dray/v1/streams/{caller:04}/index/{number:020}", _VALUE),
            Put(f"/dray/v1/wal/{caller:04}-{number:020}", _VALUE),
        ]
        outcome = await store.commit(_DOMAIN, [Check(head, version)], writes)
        assert isinstance(outcome, Versions)
        version = outcome.of[0]
        took.append(time.perf_counter() - began)


def main() -> None:
    for line in [*environment(), *(figure.line() for figure in run(seconds=15.0, directory=Path.cwd()))]:
        print(line)


if __name__ == "__main__":
    main()
