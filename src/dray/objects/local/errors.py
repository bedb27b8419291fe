"""What an `OSError` of a file means to a caller of the port.

Three lists decide: what fills up, what passes by itself, and what says that the file is not there. All
else needs a person. `EIO` does too: after a failed fsync the kernel may call the next one good, so trying
again would turn a lost object into an acknowledged one.
"""

import errno
import os
from pathlib import Path
from typing import Final

from dray.objects.port import NotFound, ObjectError, StoreUnusable, Unavailable

_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_PASSES: Final = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ESTALE, errno.ETIMEDOUT, errno.EBUSY}
)
_NOT_THERE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR})
_FORBIDDEN: Final = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})


def of_read(error: OSError, root: Path, path: str) -> ObjectError:
    """Translate what stopped a read of the object at `path`."""
    if error.errno in _NOT_THERE and root.is_dir():
        return NotFound(f"there is no object {path} in {root}")
    return of_store(error, root, path)


def of_store(error: OSError, root: Path, path: str) -> ObjectError:
    """Translate what stopped a write, a listing or a delete; `path` may be empty."""
    where = f"{root / path}: {os.strerror(error.errno or 0)}"
    if error.errno in _NO_ROOM:
        return StoreUnusable(
            f"no room for {where}; free some space or raise the quota or file size limit of this directory,"
            " then puts will succeed again"
        )
    if error.errno in _PASSES:
        return Unavailable(where)
    return StoreUnusable(f"{where}; {_advice(error, root)}")


def _advice(error: OSError, root: Path) -> str:
    if not root.exists():
        return f"the directory {root} is missing: create it, or mount its disk, and make sure it stays there"
    if not root.is_dir():
        return f"{root} is not a directory: name one for the objects"
    if error.errno in _FORBIDDEN:
        return f"let this user (uid {os.geteuid()}) write to {root}, on a writable disk with hard links"
    if error.errno == errno.ENOTDIR:
        return "an object has the name of a folder that this path needs; choose another path"
    return "check the disk and its file system"
