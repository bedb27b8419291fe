"""Reading what the page cache holds, on the event loop.

Handing a read to a thread and taking its answer back costs more than copying some hundred kilobytes. Linux
can be asked to read only what it has in memory (`RWF_NOWAIT`), and refuses instead of waiting for the disk.

Only opening the file may still wait, when not even its name is in memory. Then its bytes are not either: so
after a refusal the next reads go to threads, twice as many after each further one, before this is tried
again. Where the kernel or the file system knows nothing of this, every try is a refusal.

Whatever is wrong with a file counts as a refusal too. The thread will meet it again and say what it is.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from typing_extensions import Buffer

from dray.objects.port import ByteRange

_BYTES_MAX: Final = 1 << 20
"""Of one call; copying more would keep everybody else waiting."""
_LEFT_OUT_MAX: Final = 256
_NOWAIT: Final = getattr(os, "RWF_NOWAIT", None)


class ResidentReader:
    """Reads files under `root` as long as they are in memory."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._left_out = 0
        self._to_leave_out = 0

    def read(self, path: str, ranges: Sequence[ByteRange]) -> list[Buffer] | None:
        """Return the ranges of a file, or None if a thread must see to it."""
        if _NOWAIT is None or sum(wanted.length for wanted in ranges) > _BYTES_MAX:
            return None
        if self._left_out < self._to_leave_out:
            self._left_out += 1
            return None
        read = _read(f"{self._root}/{path}", ranges, _NOWAIT)
        self._left_out = 0
        self._to_leave_out = 0 if read is not None else min(2 * self._to_leave_out + 1, _LEFT_OUT_MAX)
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
