"""Reads from the page cache in the event loop, without a thread.

Passing a read to a thread and back costs more than copying a few hundred kilobytes. With `RWF_NOWAIT` Linux
reads only from the page cache, and fails instead of waiting for the disk.

Opening the file may still block, if not even its directory entry is cached. Then its content is not cached
either: so after a miss the next reads go to threads, twice as many after each further miss, before this is
tried again. If the kernel or file system does not support it, every attempt is a miss.

Any error of the file counts as a miss too. The thread will run into it again and report it.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from typing_extensions import Buffer

from dray.objects.port import ByteRange

_BYTES_MAX: Final = 1 << 20
"""The limit of one call; copying more would block the event loop."""
_SKIPS_MAX: Final = 256
_NOWAIT: Final = getattr(os, "RWF_NOWAIT", None)


class PageCacheReader:
    """Reads files under `root` that are in the page cache."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._skipped = 0
        self._skips = 0

    def read(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer] | None:
        """Return the ranges of a file, or None if a thread must read them."""
        if _NOWAIT is None or sum(wanted.length for wanted in ranges) > _BYTES_MAX:
            return None
        if self._skipped < self._skips:
            self._skipped += 1
            return None
        read = _read(f"{self._root}/{path}", ranges, _NOWAIT)
        self._skipped = 0
        self._skips = 0 if read is not None else min(2 * self._skips + 1, _SKIPS_MAX)
        return read


def _read(name: str, ranges: Sequence[ByteRange], flags: int) -> list[Buffer] | None:
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        buffers: list[Buffer] = []
        for wanted in ranges:
            buffer = bytearray(wanted.length)
            if os.preadv(descriptor, [buffer], wanted.start, flags) != wanted.length:
                return None
            buffers.append(memoryview(buffer).toreadonly())
    except OSError:
        return None
    else:
        return buffers
    finally:
        os.close(descriptor)
