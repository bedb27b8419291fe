"""Temp folders, which hold unfinished files until they are linked to their path.

Each open store has its own folder under `.dray-tmp`, on the same file system as the objects, and holds a lock
on it (`flock`) as long as its process lives. So a folder whose lock is free belongs to a dead process,
regardless of its pid and machine, and may be removed; no guessing by age is needed.

The only race is between creating a folder and locking it: a sweeper may lock it first. So after locking, the
store checks that the folder still exists, and creates another one if it does not.
"""

import fcntl
import itertools
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

HOME: Final = ".dray-tmp"
_CLAIMS_MAX: Final = 100


class TempFolder:
    """The folder of one store, created by `claim` and removed by `close`."""

    def __init__(self, folder: Path, lock: int) -> None:
        self._folder = folder
        self._lock = lock
        self._numbers = itertools.count()

    def new_path(self) -> str:
        return f"{self._folder}/{next(self._numbers)}"

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        os.close(self._lock)


def claim(root: Path) -> TempFolder:
    """Create and lock a folder."""
    home = root / HOME
    home.mkdir(exist_ok=True)
    for _ in range(_CLAIMS_MAX):
        folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=home))
        lock = _lock(folder)
        if lock is not None:
            return TempFolder(folder, lock)
    raise BlockingIOError(f"{home}: another process keeps removing new folders")


def sweep(root: Path) -> int:
    """Remove the folders of dead processes, and return their number."""
    dead = 0
    for folder in (root / HOME).iterdir():
        lock = _lock(folder)
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
            dead += 1
    return dead


def _lock(folder: Path) -> int | None:
    """Return a locked descriptor of `folder`; None if it is locked, deleted, or another user's."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), folder.stat()):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except OSError:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None
