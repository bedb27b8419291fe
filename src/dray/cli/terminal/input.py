"""Input of commands: lines of standard input, and the signals that end them.

Lines are read so that a command can do other work while none comes: a terminal or a pipe is read when it
has data, a file at once. Nothing is made non-blocking, because the terminal is shared with standard error
and with the shell.

The first Ctrl-C or SIGTERM asks a command to stop, so that it can finish its work. The second one is a
KeyboardInterrupt wherever the command is, also in a write that blocks.
"""

import os
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import UnsupportedOperation
from types import FrameType
from typing import BinaryIO, Final

from dray.cli.lines.text_lines import InvalidLine

LINE_BYTES_MAX: Final = 64 << 20
_READ_BYTES: Final = 64 << 10
_WAIT_S: Final = 0.1


def read_lines(
    stream: BinaryIO, stopped: Callable[[], bool], while_waiting: Callable[[], None]
) -> Iterator[tuple[int, bytes]]:
    """Yield each line without its end, and its number; ends with the input, or once `stopped`."""
    number, begun, size_bytes = 1, [], 0
    for data in _chunks(stream, stopped, while_waiting):
        first, *others = data.split(b"\n")
        begun.append(first)
        size_bytes += len(first)
        for other in others:
            yield number, b"".join(begun)
            number, begun, size_bytes = number + 1, [other], len(other)
        if size_bytes > LINE_BYTES_MAX:
            raise InvalidLine(number, f"it is longer than {LINE_BYTES_MAX >> 20} MiB")
    if size_bytes:
        yield number, b"".join(begun)


def _chunks(
    stream: BinaryIO, stopped: Callable[[], bool], while_waiting: Callable[[], None]
) -> Iterator[bytes]:
    descriptor = _descriptor(stream)
    while not stopped():
        if descriptor is None:
            data = stream.read(_READ_BYTES)
        elif select.select([descriptor], [], [], _WAIT_S)[0]:
            data = os.read(descriptor, _READ_BYTES)
        else:
            while_waiting()
            continue
        if not data:
            return
        yield data


def _descriptor(stream: BinaryIO) -> int | None:
    with suppress(UnsupportedOperation, AttributeError):
        return stream.fileno()
    return None


class StopRequest:
    """Whether the command was asked to stop."""

    def __init__(self) -> None:
        self.received = False

    def __call__(self) -> bool:
        return self.received


@contextmanager
def stop_requested_by_signals() -> Iterator[StopRequest]:
    """Turn the first signal into a `StopRequest`, and the second into a KeyboardInterrupt."""
    stop = StopRequest()

    def on_signal(_: int, __: FrameType | None) -> None:
        if stop.received:
            raise KeyboardInterrupt
        stop.received = True

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
