"""Lines of standard input, without blocking the event loop.

A terminal or a pipe is read when it has something; a file, or what stands in for one in a test, is read at
once. Nothing is made non-blocking: the terminal is shared with standard error and with the shell.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from io import UnsupportedOperation
from typing import BinaryIO, Final

from dray.cli.lines.plain import WrongLine
from dray.runtime import Clock

LINE_BYTES_MAX: Final = 64 << 20
_READ_BYTES: Final = 64 << 10


class InputLines:
    """`lines` gives each line without its end; `stop` makes it end as if the input had."""

    def __init__(self, stream: BinaryIO, clock: Clock) -> None:
        self._stream = stream
        self._descriptor = _descriptor(stream)
        self._clock = clock
        self._stopped = False
        self._woken = asyncio.Event()

    def stop(self) -> None:
        self._stopped = True
        self._woken.set()

    async def lines(self) -> AsyncIterator[tuple[int, bytes]]:
        """Yield each line with its number; `WrongLine` if one is longer than anybody means."""
        number, begun, size_bytes = 1, [], 0
        while data := await self._read():
            first, *others = data.split(b"\n")
            begun.append(first)
            size_bytes += len(first)
            for other in others:
                yield number, b"".join(begun)
                number, begun, size_bytes = number + 1, [other], len(other)
            if size_bytes > LINE_BYTES_MAX:
                raise WrongLine(number, f"it is longer than {LINE_BYTES_MAX >> 20} MiB")
        if size_bytes:
            yield number, b"".join(begun)

    async def _read(self) -> bytes:
        """Return what there is, or nothing at the end."""
        if self._descriptor is None:
            await self._clock.sleep(0)
            return b"" if self._stopped else self._stream.read(_READ_BYTES)
        await self._wait(self._descriptor)
        return b"" if self._stopped else os.read(self._descriptor, _READ_BYTES)

    async def _wait(self, descriptor: int) -> None:
        loop = asyncio.get_running_loop()
        if self._stopped:
            return
        self._woken.clear()
        try:
            loop.add_reader(descriptor, self._woken.set)
        except PermissionError:  # a file cannot be waited for: it is always ready
            await self._clock.sleep(0)
            return
        try:
            await self._woken.wait()
        finally:
            loop.remove_reader(descriptor)


def _descriptor(stream: BinaryIO) -> int | None:
    with suppress(UnsupportedOperation, AttributeError):
        return stream.fileno()
    return None
