"""The log of the server in a file: what was acknowledged survives kill -9.

An entry is written with one system call before it is executed. There is no fsync: the tests kill processes,
not machines.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

import msgspec

from dray.testing.oxia_server.shard import LogEntry

_LENGTH_BYTES: Final = 4
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(LogEntry).decode


class EntryLog:
    """Appends entries to a file, or to nothing."""

    def __init__(self, file: int | None) -> None:
        self._file = file

    @classmethod
    def open(cls, path: Path | None) -> Self:
        return cls(None if path is None else os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644))

    def append(self, entry: LogEntry) -> None:
        if self._file is not None:
            data = _encode(entry)
            os.write(self._file, len(data).to_bytes(_LENGTH_BYTES, "big") + data)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def read_entries(path: Path) -> Iterator[LogEntry]:
    """Yield the entries of a file, which is truncated after the last whole one."""
    data = path.read_bytes() if path.exists() else b""
    at = 0
    while len(data) - at >= _LENGTH_BYTES:
        start = at + _LENGTH_BYTES
        end = start + int.from_bytes(data[at:start], "big")
        if end > len(data):
            break
        yield _decode(data[start:end])
        at = end
    if at < len(data):
        os.truncate(path, at)
