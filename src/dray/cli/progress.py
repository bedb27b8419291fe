"""How many records went by, and how fast; on standard error, so that standard output stays clean."""

import sys
from dataclasses import dataclass, field

import click

from dray.runtime import Clock, Tasks

_MB = 1_000_000
_EVERY_S = 1.0


@dataclass(slots=True)
class Progress:
    """Counts, and tells. On a terminal one line is written over and over."""

    clock: Clock
    verb: str
    records: int = 0
    plain_bytes: int = 0
    began: float = field(init=False)
    _records_told: int = 0
    on_terminal: bool = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock.monotonic()
        self.on_terminal = sys.stderr.isatty()

    def count(self, records: int, plain_bytes: int) -> None:
        self.records += records
        self.plain_bytes += plain_bytes

    def start(self, tasks: Tasks) -> None:
        """Tell once a second from now on, when something has changed."""
        tasks.every(_EVERY_S, self._step, name="progress", clock=self.clock)

    def finish(self) -> None:
        """Tell the whole."""
        self._write(self.text(), last=True)

    def text(self) -> str:
        seconds = max(self.clock.monotonic() - self.began, 1e-9)
        return (
            f"{self.verb} {_counted(self.records, 'record')}, "
            f"{_counted(self.plain_bytes, 'byte')} in {seconds:.1f} s "
            f"({self.records / seconds:,.0f} records/s, {self.plain_bytes / seconds / _MB:.1f} MB/s)"
        )

    async def _step(self) -> None:
        if self.records != self._records_told:
            self._records_told = self.records
            self._write(self.text(), last=False)

    def _write(self, text: str, *, last: bool) -> None:
        overwrite = "\r\x1b[K" if self.on_terminal else ""
        click.echo(overwrite + text, err=True, nl=last or not self.on_terminal)


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
