"""Scratch folder for the temporary files of a session, for the lifetime of its process.

A killed process leaves its folder behind, 100 MB and more. So each folder contains a file that its process
keeps locked, and creating a folder removes those whose file is no longer locked.
"""

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

_PREFIX: Final = "dray-spark-"
_HELD: Final = "held"


class ScratchFolder:
    """A scratch folder, owned until it is removed or this process exits."""

    def __init__(self, path: Path, held: int) -> None:
        self.path = path
        self._held = held

    @classmethod
    def make(cls) -> "ScratchFolder":
        """Create a folder among the temporary files, and remove those of killed processes."""
        path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        unnamed = path / f"{_HELD}.new"  # must not be visible before it is locked
        held = os.open(unnamed, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(held, fcntl.LOCK_EX)
        unnamed.rename(path / _HELD)
        for other in path.parent.glob(f"{_PREFIX}*"):
            _remove_left(other)
        return cls(path, held)

    def remove(self) -> None:
        """Remove the folder; must be called once at most."""
        shutil.rmtree(self.path, ignore_errors=True)
        with suppress(OSError):
            os.close(self._held)
        self._held = -1


def _remove_left(folder: Path) -> None:
    """Remove a folder that no process holds; one without the lock file is being created, or is not ours."""
    try:
        held = os.open(folder / _HELD, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        pass  # its process is alive
    finally:
        os.close(held)
