"""What SQLite's errors mean to the port.

A disk that is full is `StoreUnusable` (a person must make room), yet nothing is broken by it: the next commit
tries again, and works when there is room.
"""

import errno
from pathlib import Path
from typing import Final

import apsw

from dray.meta.port import MetaError, StoreUnusable, Unavailable

_MENDED_BY_ROOM: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_MENDED_BY_RIGHTS: Final = {errno.EACCES, errno.EPERM, errno.EROFS}
_ADVICE: Final = (
    (apsw.NotADBError, "it is no SQLite file; move it away or name another path"),
    (apsw.CorruptError, "it is damaged; restore it from a backup"),
    ((apsw.CantOpenError, OSError), "check that the path names a file in a directory that can be written"),
)
_DEFECT: Final = "this is a defect of Dray, please report it"


def meta_error(error: apsw.Error | OSError, path: Path, system_errno: int = 0) -> MetaError:
    """Return the port's error for one that surely left the file as it was."""
    if isinstance(error, OSError):
        system_errno = error.errno or 0
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return Unavailable(f"the metadata file {path} is locked by somebody else ({error}); try again")
    what_to_do = _what_to_do(error, system_errno)
    if what_to_do is None:
        return Unavailable(f"the metadata file {path} could not be read or written ({error}); try again")
    return StoreUnusable(f"the metadata file {path} cannot be used ({error}): {what_to_do}")


def _what_to_do(error: apsw.Error | OSError, system_errno: int) -> str | None:
    """Return what a person must do; None if it may pass by itself."""
    if isinstance(error, apsw.FullError) or system_errno in _MENDED_BY_ROOM:
        return "there is no room on its disk; free some, then it works again"
    if isinstance(error, (apsw.ReadOnlyError, apsw.PermissionsError)) or system_errno in _MENDED_BY_RIGHTS:
        return "let this user write the file and its directory"
    if isinstance(error, apsw.IOError):
        return None
    return next((advice for kind, advice in _ADVICE if isinstance(error, kind)), _DEFECT)


def left_no_commit(error: apsw.Error) -> bool:
    """Whether a COMMIT that failed so has surely not reached the file.

    The log's frames are written in order, and the last one makes the commit. When a write failed, that one is
    missing or torn. When a sync failed, it may be there: unseen now, but found by a recovery.
    """
    return isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_WRITE
