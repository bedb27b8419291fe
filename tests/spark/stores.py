"""Stores for Spark's workers, which import this module; arguments are bound with `partial`."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path

from typing_extensions import Buffer

from dray.objects.local import LocalObjects
from dray.objects.port import ObjectStore
from dray.objects.retrying import Retrying
from dray.runtime import SystemClock, SystemEntropy


async def open_directory(root: Path) -> ObjectStore:
    return Retrying(await LocalObjects.open(root), SystemClock(), SystemEntropy())


class KilledAfterPut(LocalObjects):
    """Kills its process after it put a path with `part` in it, once for each file in `marks`."""

    part: str
    marks: Path

    async def put_new(self, path: str, parts: Sequence[Buffer]) -> None:
        await super().put_new(path, parts)
        for mark in self.marks.glob("*") if self.part in path else ():
            mark.unlink()
            os.kill(os.getpid(), signal.SIGKILL)


async def open_killed_after_put(root: Path, part: str, marks: Path) -> ObjectStore:
    """Open the directory as a `KilledAfterPut`."""
    store = await KilledAfterPut.open(root)
    assert isinstance(store, KilledAfterPut)
    store.part, store.marks = part, marks
    return store


async def hang_on_open(pids: Path) -> ObjectStore:
    """Create a file named by the process id, and hang."""
    (pids / str(os.getpid())).touch()
    await SystemClock().sleep(3_600)
    raise AssertionError("the test should have ended")
