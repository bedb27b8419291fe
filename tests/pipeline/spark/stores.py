"""Stores as the workers of a test open them; imported there, so everything they need is bound to them."""

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


class Dying(LocalObjects):
    """Its process is killed when it has put a file of this kind, as often as there are marks to remove."""

    part: str
    marks: Path

    async def put_new(self, path: str, parts: Sequence[Buffer]) -> None:
        await super().put_new(path, parts)
        for mark in self.marks.glob("*") if self.part in path else ():
            mark.unlink()
            os.kill(os.getpid(), signal.SIGKILL)


async def open_dying(root: Path, part: str, marks: Path) -> ObjectStore:
    """Open the directory such that who puts a path with `part` in it dies, once for each file in `marks`."""
    store = await Dying.open(root)
    assert isinstance(store, Dying)
    store.part, store.marks = part, marks
    return store


async def open_never(pids: Path) -> ObjectStore:
    """Leave a file named by the process, and do not come to an end."""
    (pids / str(os.getpid())).touch()
    await SystemClock().sleep(3_600)
    raise AssertionError("this test should be over")
