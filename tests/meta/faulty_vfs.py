"""An SQLite VFS with faults and a count of syncs."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import apsw

_NUMBERS = count()


class FaultyVfs(apsw.VFS):
    """Passes everything to the real disk, except for the configured faults."""

    def __init__(self) -> None:
        self.name = f"faulty-{next(_NUMBERS)}"
        self.syncs = 0
        self.syncs_to_fail = 0
        self.full = False
        self.read_only = False
        super().__init__(self.name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        if self.read_only and flags[0] & apsw.SQLITE_OPEN_MAIN_DB:
            # Like the operating system, which opens a read-only file for reading.
            flags[0] = flags[0] & ~apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_READONLY
        return _File(self, name, flags)


class _File(apsw.VFSFile):
    def __init__(self, vfs: FaultyVfs, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__("", name, flags)
        self._vfs = vfs

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._vfs.syncs += 1
        super().xSync(flags)
        if self._vfs.syncs_to_fail > 0:
            self._vfs.syncs_to_fail -= 1
            raise _error(apsw.IOError("the sync failed"), apsw.SQLITE_IOERR_FSYNC)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        if self._vfs.full:
            raise _error(apsw.FullError("no space left on the disk"), apsw.SQLITE_FULL)
        super().xWrite(data, offset)


def _error(error: apsw.Error, code: int) -> apsw.Error:
    error.extendedresult = code  # type: ignore[attr-defined]  # apsw reads it, but its stubs lack it
    return error


@contextmanager
def faulty_vfs() -> Iterator[FaultyVfs]:
    vfs = FaultyVfs()
    try:
        yield vfs
    finally:
        vfs.unregister()
