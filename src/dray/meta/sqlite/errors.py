"""SQLite errors as errors of the port.

A full disk is `StoreUnusable`, because an operator must free space, yet nothing is broken by it: the next
commit is attempted, and succeeds once there is space.
"""

import errno
from pathlib import Path
from typing import Final

import apsw

from dray.meta.port import MetaError, StoreUnusable, Unavailable

_NO_SPACE: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NO_PERMISSION: Final = {errno.EACCES, errno.EPERM, errno.EROFS}
_ADVICE: Final = (
    (apsw.NotADBError, "it is not an SQLite file; move it away or choose another path"),
    (apsw.CorruptError, "it is damaged; restore it from a backup"),
    ((apsw.CantOpenError, OSError), "check that the path is a file in a writable directory"),
)
_DEFECT: Final = "this is a bug in Dray, please report it"


def meta_error(error: apsw.Error | OSError, path: Path, system_errno: int = 0) -> MetaError:
    """Return the port's error for one that certainly did not change the file."""
    if isinstance(error, OSError):
        system_errno = error.errno or 0
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return Unavailable(f"another process locks the metadata file {path} ({error}); retry")
    remedy = _remedy(error, system_errno)
    if remedy is None:
        return Unavailable(f"cannot read or write the metadata file {path} ({error}); retry")
    return StoreUnusable(f"the metadata file {path} cannot be used ({error}): {remedy}")


def _remedy(error: apsw.Error | OSError, system_errno: int) -> str | None:
    """Return what the operator must do; None if a retry may help."""
    if isinstance(error, apsw.FullError) or system_errno in _NO_SPACE:
        return (
            "its disk is full, or a quota or file size limit is reached; free some space or raise the limit"
        )
    if isinstance(error, (apsw.ReadOnlyError, apsw.PermissionsError)) or system_errno in _NO_PERMISSION:
        return "grant this user write permission on the file and its directory"
    if isinstance(error, apsw.IOError):
        return None
    return next((advice for kind, advice in _ADVICE if isinstance(error, kind)), _DEFECT)


def left_no_commit(error: apsw.Error) -> bool:
    """Return whether a COMMIT that failed with this error has certainly not reached the file.

    The frames of the WAL are written in order, and the last one makes the commit. If a write failed, that
    frame is missing or torn. If a sync failed, it may be there: invisible now, but found by a recovery.
    """
    return isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_WRITE
