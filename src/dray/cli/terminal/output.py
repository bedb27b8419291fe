"""Standard output and progress of a command that may run for hours.

`dray consume … | head` must end when head does: quietly, and even if no more records arrive. A pipe whose
reader has exited reports that as an error condition.
"""

import os
import select
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import UnsupportedOperation
from typing import Final

import click

from dray.runtime import Clock

_MB: Final = 1_000_000
_EVERY_S: Final = 1.0


@contextmanager
def quiet_broken_pipe() -> Iterator[Callable[[], bool]]:
    """Yield a check whether the reader of standard output has left; a write that fails ends the block."""
    descriptor = _pipe()
    try:
        yield lambda: descriptor is not None and _reader_left(descriptor)
    except BrokenPipeError:
        _discard_output()
    except KeyboardInterrupt:
        if descriptor is not None:
            _discard_output()
        raise


def _pipe() -> int | None:
    try:
        descriptor = sys.stdout.fileno()
    except (UnsupportedOperation, AttributeError):
        return None
    return descriptor if stat.S_ISFIFO(os.fstat(descriptor).st_mode) else None


def _reader_left(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _discard_output() -> None:
    """Send Python's own flush at exit nowhere; it would print an error, or block forever."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


@dataclass(slots=True)
class Progress:
    """Number and rate of records, on standard error. On a terminal, one line that is overwritten."""

    clock: Clock
    verb: str
    """What happened to the records: sent, read."""
    noun: str = "record"
    """What they are called."""
    records: int = 0
    size_bytes: int = 0
    on_terminal: bool = field(init=False)
    _began: float = field(init=False)
    _reported: float = field(init=False)
    _records_reported: int = 0

    def __post_init__(self) -> None:
        self._began = self._reported = self.clock.monotonic()
        self.on_terminal = sys.stderr.isatty()

    def add(self, records: int, size_bytes: int) -> None:
        """Count more records, and report."""
        self.records += records
        self.size_bytes += size_bytes
        self.report()

    def report(self) -> None:
        """Print the numbers, at most once a second, and only if they have changed."""
        now = self.clock.monotonic()
        if now - self._reported >= _EVERY_S and self.records != self._records_reported:
            self._reported, self._records_reported = now, self.records
            self._write(last=False)

    def finish(self) -> None:
        """Print the totals."""
        self._write(last=True)

    def text(self) -> str:
        seconds = max(self.clock.monotonic() - self._began, 1e-9)
        return (
            f"{self.verb} {_counted(self.records, self.noun)}, "
            f"{_counted(self.size_bytes, 'byte')} in {seconds:.1f} s "
            f"({self.records / seconds:,.0f} {self.noun}s/s, {self.size_bytes / seconds / _MB:.1f} MB/s)"
        )

    def _write(self, *, last: bool) -> None:
        overwrite = "\r\x1b[K" if self.on_terminal else ""
        click.echo(overwrite + self.text(), err=True, nl=last or not self.on_terminal)


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
