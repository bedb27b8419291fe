"""Durable writes of objects. Synchronous; runs in a thread.

The order matters:

    write the temp file → fsync it → link it to its path → fsync the folder, and the folders above it → unlink

`link` never overwrites, and makes the whole object visible at once. The name of a folder must be durable too.
Another process may have just created a folder without having synced it yet, so the first put of this store
into a folder syncs every folder up to the root, and later ones only the folder itself.

Every system call releases the interpreter lock, and must wait for it while the event loop is busy. So a
folder is created only if the link does not find it, and paths are plain strings.

An existing path is synced as well before `AlreadyExists` is raised, so that a caller that finds its own bytes
there can rely on a durable object.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from typing_extensions import Buffer

from dray.objects.local.temp import TempFolder
from dray.objects.port import AlreadyExists
from dray.runtime import sync_directory

_IOV_MAX: Final = os.sysconf("SC_IOV_MAX")
_KNOWN_MAX: Final = 10_000


class Writer:
    """Puts objects under `root`; may be used by several threads."""

    def __init__(self, root: Path, temp: TempFolder) -> None:
        self._root = str(root)
        self._temp = temp
        self._durable: set[str] = set()

    def put_new(self, path: str, parts: Sequence[Buffer]) -> None:
        temp = self._temp.new_path()
        try:
            _write_file(temp, parts)
            self._publish(temp, f"{self._root}/{path}")
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temp)  # noqa: PTH108 - see above

    def _publish(self, temp: str, target: str) -> None:
        folder = _parent(target)
        try:
            self._link(temp, target, folder)
        except FileExistsError:
            self._sync_folders(folder)
            raise AlreadyExists(f"{target} exists already") from None
        self._sync_folders(folder)

    def _link(self, temp: str, target: str, folder: str) -> None:
        try:
            os.link(temp, target)
        except FileNotFoundError:
            self._make(folder)
            os.link(temp, target)

    def _make(self, folder: str) -> None:
        """Create the folder, and those above it, unless they exist."""
        try:
            os.mkdir(folder)  # noqa: PTH102
        except FileExistsError:
            return
        except FileNotFoundError:
            if folder == self._root:
                raise
            self._make(_parent(folder))
            with suppress(FileExistsError):
                os.mkdir(folder)  # noqa: PTH102
        self._durable.discard(folder)

    def _sync_folders(self, folder: str) -> None:
        """Make the names in `folder`, and the name of the folder, durable."""
        sync_directory(folder)
        if folder == self._root or folder in self._durable:
            return
        self._sync_folders(_parent(folder))
        if len(self._durable) >= _KNOWN_MAX:
            self._durable.clear()
        self._durable.add(folder)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _write_file(path: str, parts: Sequence[Buffer]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        _write_all(descriptor, parts)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, parts: Sequence[Buffer]) -> None:
    """Write the parts without joining them, despite partial writes."""
    views = [view for view in (memoryview(part).cast("B") for part in parts) if view.nbytes]
    first = 0
    while first < len(views):
        written = os.writev(descriptor, views[first : first + _IOV_MAX])
        while first < len(views) and written >= views[first].nbytes:
            written -= views[first].nbytes
            first += 1
        if written:
            views[first] = views[first][written:]
