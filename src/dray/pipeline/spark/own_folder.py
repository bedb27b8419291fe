"""The folder that a session's temporary files are in, as long as its process lives.

A process that is killed leaves its folder behind, a hundred megabytes and more. So each folder has a file
that its process keeps locked: whoever makes a folder removes those that nobody holds any more.
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


class OwnFolder:
    """A folder that was made; it is ours until it is removed, or we are no more."""

    def __init__(self, path: Path, held: int) -> None:
        self.path = path
        self._held = held

    @classmethod
    def make(cls) -> "OwnFolder":
        """Make one among the temporary files, and clear up after those that were killed."""
        path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        unnamed = path / f"{_HELD}.new"  # nobody may see it before it is locked
        held = os.open(unnamed, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(held, fcntl.LOCK_EX)
        unnamed.rename(path / _HELD)
        for other in path.parent.glob(f"{_PREFIX}*"):
            _remove_left(other)
        return cls(path, held)

    def remove(self) -> None:
        """Remove it; once is enough."""
        shutil.rmtree(self.path, ignore_errors=True)
        with suppress(OSError):
            os.close(self._held)
        self._held = -1


def _remove_left(folder: Path) -> None:
    """Remove a folder that nobody holds; one without the file is being made, or is not ours to judge."""
    try:
        held = os.open(folder / _HELD, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        pass  # its process lives
    finally:
        os.close(held)
