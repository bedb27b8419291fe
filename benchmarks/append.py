"""Append throughput of one process: local directory and SQLite, fsync on.

Bar: 300 MB/s of 1 KiB records, in batches of 16 KiB and of 1 MiB, both by the clock, which includes waiting
for the disk, and per CPU second of this process with its threads.
"""

import asyncio
import resource
import shutil
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from benchmarks.figures import Figure
from dray.ids import StreamId
from dray.log import Appended, Log, LogDeps, LogMetrics, LogSettings
from dray.meta.sqlite import SqliteMetaStore
from dray.objects.local import LocalObjects
from dray.observe import Metrics
from dray.records import BatchRules, Record, encode_batch, validate
from dray.runtime import SystemClock, SystemEntropy, Tasks

KIB = 1024
STREAMS = 8
_BATCHES_AT_ONCE_BYTES = 64 << 20
_BAR_MB = 300.0


def run(*, seconds: float, directory: Path | None = None) -> list[Figure]:
    with tempfile.TemporaryDirectory(dir=directory, prefix="dray-append-") as name:
        return asyncio.run(_run(seconds / 2, Path(name)))


async def _run(seconds: float, directory: Path) -> list[Figure]:
    figures = []
    for size in (16 * KIB, KIB * KIB):
        home = directory / str(size)
        async with open_log(home) as log:
            figures += await _appends(log, size, seconds)
        shutil.rmtree(home)
    return figures


@asynccontextmanager
async def open_log(home: Path, settings: LogSettings | None = None) -> AsyncIterator[Log]:
    """Open a log with a local broker's stores."""
    (home / "objects").mkdir(parents=True)
    clock, entropy, tasks = SystemClock(), SystemEntropy(), Tasks()
    meta = await SqliteMetaStore.open(home / "meta.db", clock=clock, entropy=entropy, tasks=tasks)
    objects = await LocalObjects.open(home / "objects")
    metrics = LogMetrics.on(Metrics())
    log = Log(LogDeps(meta, objects, clock, entropy, tasks, settings or LogSettings(), metrics))
    await log.start()
    try:
        yield log
        await log.close()
    finally:
        await tasks.stop()
        await objects.close()
        await meta.close()


async def _appends(log: Log, size: int, seconds: float) -> list[Figure]:
    streams = [StreamId(number + 1) for number in range(STREAMS)]
    for stream in streams:
        await log.create_stream(stream)
    raw = bytes(_batch(size))
    rules = BatchRules(max_message_bytes=2 * KIB * KIB)
    inside = asyncio.Semaphore(_BATCHES_AT_ONCE_BYTES // len(raw))
    wall, cpu, sent = time.perf_counter(), _cpu_seconds(), 0
    while time.perf_counter() - wall < seconds:
        await inside.acquire()
        batch = validate(memoryview(raw), rules, 0)
        promise = await log.append(streams[sent % STREAMS], batch)
        promise.add_done_callback(partial(_acknowledged, inside))
        sent += 1
    for _ in range(_BATCHES_AT_ONCE_BYTES // len(raw)):
        await inside.acquire()
    wall, cpu = time.perf_counter() - wall, _cpu_seconds() - cpu
    megabytes = sent * len(raw) / 1e6
    name = f"append 1 KiB records in {size // KIB} KiB batches"
    return [
        Figure(f"{name}, by the clock", megabytes / wall, "MB/s", _BAR_MB),
        Figure(f"{name}, per core", megabytes / max(cpu, 1e-9), "MB/s", _BAR_MB),
    ]


def _acknowledged(inside: asyncio.Semaphore, promise: "asyncio.Future[Appended]") -> None:
    promise.result()
    inside.release()


def _batch(size: int) -> memoryview:
    value = bytes(range(256)) * 4
    return memoryview(encode_batch([Record(n, 0, None, value[:-20]) for n in range(size // KIB)]))


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
