"""Reads of files and ranges. Synchronous; runs in a thread.

`pread` makes one copy from the page cache; there are no further copies.
"""

import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from typing_extensions import Buffer

from dray.objects.paths import check_inside
from dray.objects.port import ByteRange, ObjectInfo, Unavailable


def read_whole(root: Path, path: str) -> Buffer:
    descriptor = os.open(root / path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _read(descriptor, path, 0, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def read_ranges(root: Path, path: str, ranges: Sequence[ByteRange]) -> list[Buffer]:
    descriptor = os.open(root / path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        check_inside(path, ranges, os.fstat(descriptor).st_size)
        return [_read(descriptor, path, wanted.start, wanted.length) for wanted in ranges]
    finally:
        os.close(descriptor)


def info_of(root: Path, path: str) -> ObjectInfo:
    status = (root / path).stat()
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder")
    return ObjectInfo(path, status.st_size, status.st_mtime_ns // 1_000_000)


def _read(descriptor: int, path: str, start: int, length: int) -> bytes:
    data = os.pread(descriptor, length, start)
    if len(data) == length:
        return data
    return _read_rest(descriptor, path, data, start, length)


def _read_rest(descriptor: int, path: str, head: bytes, start: int, length: int) -> bytes:
    """Continue after a short read: Linux returns at most 2 GiB per call, and a truncated file less."""
    pieces, got = [head], len(head)
    while got < length:
        piece = os.pread(descriptor, length - got, start + got)
        if not piece:
            raise Unavailable(f"{path}: the file ended after {got} of {length} bytes from {start}")
        pieces.append(piece)
        got += len(piece)
    return b"".join(pieces)
