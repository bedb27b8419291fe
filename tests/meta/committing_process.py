"""A process that commits to a metadata file until it is killed.

    python committing_process.py <file> <name> <counters> [add | once]

Each commit increments two counters and writes `/log/<name>/<number>`. After each acknowledged commit the
process prints the number, so the reader of its output knows which commits must not be lost.
"""

import asyncio
import sys
from pathlib import Path

from dray.ids import Domain
from dray.meta.port import ABSENT, Check, Put, Versions
from dray.meta.sqlite import SqliteMetaStore
from dray.runtime import SystemClock, SystemEntropy, Tasks

DOMAIN = Domain("d")


async def add(store: SqliteMetaStore, name: str, number: int, counters: int) -> None:
    """Increment two counters and log it, retried until no check fails."""
    keys = [f"/n/{number % counters}", f"/n/{(number + 1) % counters}"]
    while True:
        found = [await store.get(DOMAIN, key) for key in keys]
        checks = [
            Check(key, entry.version if entry else ABSENT) for key, entry in zip(keys, found, strict=True)
        ]
        values = [int(entry.value) + 1 if entry else 1 for entry in found]
        writes = [Put(key, b"%d" % value) for key, value in zip(keys, values, strict=True)]
        log = Put(f"/log/{name}/{number:08}", b"x" * 2000)
        if isinstance(await store.commit(DOMAIN, checks, [*writes, log]), Versions):
            return


async def main(path: Path, name: str, counters: int, most: int) -> None:
    tasks = Tasks()
    store = await SqliteMetaStore.open(path, clock=SystemClock(), entropy=SystemEntropy(), tasks=tasks)
    last = await store.scan(DOMAIN, f"/log/{name}/", f"/log/{name}/~", limit=1, reverse=True)
    number = int(last[0].key.rsplit("/", 1)[1]) + 1 if last else 0
    for number in range(number, number + most):  # noqa: B020 - it continues from there
        await add(store, name, number, counters)
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
    await store.close()
    await tasks.stop()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
