"""Cache of fetched and built artifacts: folders under `.cache`, which git ignores.

`made(name, sources, make)` returns `.cache/<name>`. The folder is rebuilt when one of its source files has
changed; it appears under its name only when it is complete, and concurrent callers wait for each other.
"""

import fcntl
import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.oracle.environment import ROOT

CACHE: Final = ROOT / ".cache"
_STAMP: Final = "made-from"


def made(name: str, sources: Sequence[Path], make: Callable[[Path], None], root: Path = CACHE) -> Path:
    """Return the folder; `make` fills an empty one unless it is up to date with its sources."""
    folder, wanted = root / name, _digest(sources)
    if _stamp(folder) == wanted:
        return folder
    root.mkdir(parents=True, exist_ok=True)
    with locked(root / f"{name}.lock"):
        if _stamp(folder) != wanted:
            _replace(folder, wanted, make)
    return folder


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that the kernel releases if this process dies."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _replace(folder: Path, stamp: str, make: Callable[[Path], None]) -> None:
    fresh = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    make(fresh)
    (fresh / _STAMP).write_text(stamp)
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)


def _stamp(folder: Path) -> str:
    try:
        return (folder / _STAMP).read_text()
    except FileNotFoundError:
        return ""


def _digest(sources: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for source in sorted(sources):
        content = source.read_bytes()
        digest.update(f"{source.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()
