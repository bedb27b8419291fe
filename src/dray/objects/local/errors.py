"""`OSError`s of files as errors of the port.

Three lists decide: no space, transient, and missing files. Everything else needs an operator. So does `EIO`:
after a failed fsync the kernel may report success for the next one, so a retry could acknowledge a lost
object.
"""

import errno
import os
from pathlib import Path
from typing import Final

from dray.objects.port import NotFound, ObjectError, StoreUnusable, Unavailable

_NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_TRANSIENT: Final = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ESTALE, errno.ETIMEDOUT, errno.EBUSY}
)
_MISSING: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR})
_FORBIDDEN: Final = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})


def of_read(error: OSError, root: Path, path: str) -> ObjectError:
    """Translate the error of a read of the object at `path`."""
    if error.errno in _MISSING and root.is_dir():
        return NotFound(f"there is no object {path} in {root}")
    return of_store(error, root, path)


def of_store(error: OSError, root: Path, path: str) -> ObjectError:
    """Translate the error of a write, a listing or a delete; `path` may be empty."""
    where = f"{root / path}: {os.strerror(error.errno or 0)}"
    if error.errno in _NO_SPACE:
        return StoreUnusable(
            f"no space for {where}; free some space, or raise the quota or file size limit of this directory"
        )
    if error.errno in _TRANSIENT:
        return Unavailable(where)
    return StoreUnusable(f"{where}; {_remedy(error, root)}")


def _remedy(error: OSError, root: Path) -> str:
    if not root.exists():
        return f"the directory {root} is missing: create it, or mount its disk permanently"
    if not root.is_dir():
        return f"{root} is not a directory: choose a directory for the objects"
    if error.errno in _FORBIDDEN:
        return f"grant uid {os.geteuid()} write permission on {root}, on a writable disk with hard links"
    if error.errno == errno.ENOTDIR:
        return "an object has the name of a folder in this path; choose another path"
    return "check the disk and its file system"
