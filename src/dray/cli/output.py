"""Standard output of a command that may write for hours, to somebody who may leave earlier.

`dray consume … | head` must end when head does: quietly, and also when no record comes any more. A pipe whose
reader is gone tells so by an error condition, which an event loop reports like something to read.
"""

import asyncio
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import UnsupportedOperation


@contextmanager
def until_reader_leaves(left: Callable[[], None]) -> Iterator[None]:
    """Call `left` when standard output is a pipe and its reader goes; a write that fails ends the block."""
    loop = asyncio.get_running_loop()
    descriptor = _pipe()
    if descriptor is not None:
        loop.add_reader(descriptor, left)
    try:
        yield
    except BrokenPipeError:
        _discard_the_rest()
    except KeyboardInterrupt:
        if descriptor is not None:
            _discard_the_rest()
        raise
    finally:
        if descriptor is not None:
            loop.remove_reader(descriptor)


def _pipe() -> int | None:
    try:
        descriptor = sys.stdout.fileno()
    except (UnsupportedOperation, AttributeError):
        return None
    return descriptor if stat.S_ISFIFO(os.fstat(descriptor).st_mode) else None


def _discard_the_rest() -> None:
    """Let Python's own flush at exit go nowhere; it would complain, or wait for ever."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
