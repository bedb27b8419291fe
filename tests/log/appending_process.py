"""Process that appends to one stream until it is killed, and prints what was acknowledged.

    python -m tests.log.appending_process DIRECTORY STREAM NAME

Prints `sent TAG` before it appends a batch, and `acked TAG OFFSET` once it is acknowledged.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from dray.ids import StreamId
from dray.log import Log, LogDeps, LogMetrics, LogSettings
from dray.meta.sqlite import SqliteMetaStore
from dray.objects.local import LocalObjects
from dray.observe import Metrics
from dray.runtime import SystemClock, SystemEntropy, Tasks
from dray.testing.sim.batches import tagged_batch

_AT_ONCE = 4


@asynccontextmanager
async def open_log(directory: Path) -> AsyncIterator[Log]:
    """Open a log on a shared SQLite file and a shared directory."""
    clock, entropy, tasks = SystemClock(), SystemEntropy(), Tasks()
    objects_directory = directory / "objects"
    objects_directory.mkdir(exist_ok=True)
    meta = await SqliteMetaStore.open(directory / "meta.db", clock=clock, entropy=entropy, tasks=tasks)
    objects = await LocalObjects.open(objects_directory)
    log = Log(LogDeps(meta, objects, clock, entropy, tasks, LogSettings(), LogMetrics.on(Metrics())))
    await log.start()
    try:
        yield log
        await log.close()
    finally:
        await tasks.stop()
        await objects.close()
        await meta.close()


async def _append_forever(directory: Path, stream: StreamId, name: str) -> None:
    async with open_log(directory) as log:
        number = 0
        while True:
            tags = [f"{name}-{number + more}" for more in range(_AT_ONCE)]
            number += _AT_ONCE
            promises = []
            for tag in tags:
                _print(f"sent {tag}")
                promises.append(await log.append(stream, tagged_batch(tag, 0, records=2)))
            for tag, promise in zip(tags, promises, strict=True):
                _print(f"acked {tag} {(await promise).base_offset}")


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_append_forever(Path(sys.argv[1]), StreamId(int(sys.argv[2])), sys.argv[3]))
