"""One life of a broker or a compactor in a process of its own, as its supervisor sees it.

The process has a session of its own: Ctrl-C in a terminal reaches the supervisor alone, which passes it on
once. The line between the two (see `messages`) also tells of death, in both directions and however it came:
the system closes it when a process is gone.

Everything that touches the process happens in the thread of the event loop. So no signal is ever sent to a
number that the system has given to somebody else meanwhile: it stays ours until `poll` has told its end.
"""

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Final, Protocol

from dray.cli.fleet.messages import Failed, Ready, Report, read_report, settings_line
from dray.cli.settings import DraySettings
from dray.runtime import Clock

_POLL_SECONDS: Final = 0.01
_SIGNALS: Final = {one.value: one.name for one in signal.Signals}


@dataclass(frozen=True, slots=True)
class Ending:
    """How a process ended: its exit code, or the negative number of a signal."""

    name: str
    code: int
    message: str | None = None
    """What it said itself."""

    @property
    def clean(self) -> bool:
        """Whether a process that was told to stop did just that; a very young one dies of being told."""
        return self.code in (0, -signal.SIGTERM)

    def __str__(self) -> str:
        if self.message is not None:
            return f"{self.name}: {self.message}"
        if self.code < 0:
            return f"{self.name} was killed by {_SIGNALS.get(-self.code, f'signal {-self.code}')}"
        return f"{self.name} ended with exit code {self.code}"


class Life(Protocol):
    """A process, from its start to its end."""

    async def ready(self) -> Ready | None:
        """Return its addresses once it serves; None if it never will. Called once."""
        ...

    async def ended(self) -> Ending: ...

    def stop(self) -> None:
        """Ask it to stop; it will answer first what it was asked."""
        ...

    def dismiss(self) -> None:
        """Ask it to stop without a word: nobody was told that it is there."""
        ...

    def kill(self) -> None: ...


class ChildProcess:
    """A `Life`. Made in one step, so that whoever is cancelled knows whether there is a process."""

    def __init__(self, name: str, settings: DraySettings, clock: Clock) -> None:
        self._name = name
        self._settings = settings
        self._clock = clock
        self._message: str | None = None
        self._is_ready = False
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._line, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                # What stands in the working directory is not ours to import (-P); the last word is for `ps`.
                [sys.executable, "-P", "-m", "dray.cli.fleet", name.replace(" ", "-")],
                stdin=theirs.fileno(),
                start_new_session=True,
            )

    async def ready(self) -> Ready | None:
        self._streams = reader, writer = await asyncio.open_unix_connection(sock=self._line)
        writer.write(settings_line(self._settings))
        report = await self._heard(reader.readline())
        self._is_ready = isinstance(report, Ready)
        return report if isinstance(report, Ready) else None

    async def ended(self) -> Ending:
        if self._streams is not None:
            reader, writer = self._streams
            await self._heard(reader.read())
            writer.close()
        while (code := self._process.poll()) is None:
            await self._clock.sleep(_POLL_SECONDS)
        return Ending(self._name, code, self._message)

    def stop(self) -> None:
        self._process.terminate()

    def dismiss(self) -> None:
        # One that is not ready says nothing anyway, and may be too young for any other signal.
        self._process.send_signal(signal.SIGINT if self._is_ready else signal.SIGTERM)

    def kill(self) -> None:
        self._process.kill()

    async def _heard(self, lines: Awaitable[bytes]) -> Report | None:
        try:
            report = read_report(await lines)
        except ConnectionError:
            return None  # it ended before it had read its settings
        if isinstance(report, Failed):
            self._message = report.message
        return report
