"""Child process of the supervisor, a broker or compactor: started, ready, stopped, exited.

The process runs in a session of its own, so Ctrl-C in a terminal reaches only the supervisor, which passes it
on once. The socket between the two (see `messages`) also reports death in both directions, whatever its
cause: the system closes it when a process exits.

Everything that touches the process happens in the thread of the event loop. So a signal never goes to a
process id that the system has reused: the id stays ours until `poll` has collected the exit status.
"""

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Final, Protocol

from dray.runtime import Clock
from dray.server.supervisor.messages import Failed, Ready, Report, read_report, settings_line
from dray.settings import DraySettings

_POLL_SECONDS: Final = 0.01
_SIGNALS: Final = {one.value: one.name for one in signal.Signals}


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """How a process exited: its exit code, or the negative number of a signal."""

    name: str
    code: int
    message: str | None = None
    """The error that the process itself reported."""

    @property
    def clean(self) -> bool:
        """Whether a process that was asked to stop did so; a very young one is killed by SIGTERM."""
        return self.code in (0, -signal.SIGTERM)

    def __str__(self) -> str:
        if self.message is not None:
            return f"{self.name}: {self.message}"
        if self.code < 0:
            return f"{self.name} was killed by {_SIGNALS.get(-self.code, f'signal {-self.code}')}"
        return f"{self.name} exited with code {self.code}"


class ChildProcess(Protocol):
    """A process, from its start to its exit."""

    async def ready(self) -> Ready | None:
        """Return its addresses once it serves; None if it never will. Called once."""
        ...

    async def exited(self) -> ExitStatus: ...

    def stop(self) -> None:
        """Ask it to shut down gracefully."""
        ...

    def stop_quietly(self) -> None:
        """Ask it to shut down without logging that: it was never announced."""
        ...

    def kill(self) -> None: ...


class SpawnedProcess:
    """A `ChildProcess`. The constructor never waits, so after a cancel it is known whether one exists."""

    def __init__(self, name: str, settings: DraySettings, clock: Clock) -> None:
        self._name = name
        self._settings = settings
        self._clock = clock
        self._message: str | None = None
        self._is_ready = False
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._channel, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                # -P: modules in the working directory must not be imported. The last argument is for `ps`.
                [sys.executable, "-P", "-m", "dray.server.supervisor", name.replace(" ", "-")],
                stdin=theirs.fileno(),
                start_new_session=True,
            )

    async def ready(self) -> Ready | None:
        self._streams = reader, writer = await asyncio.open_unix_connection(sock=self._channel)
        writer.write(settings_line(self._settings))
        report = await self._received(reader.readline())
        self._is_ready = isinstance(report, Ready)
        return report if isinstance(report, Ready) else None

    async def exited(self) -> ExitStatus:
        if self._streams is not None:
            reader, writer = self._streams
            await self._received(reader.read())
            writer.close()
        while (code := self._process.poll()) is None:
            await self._clock.sleep(_POLL_SECONDS)
        return ExitStatus(self._name, code, self._message)

    def stop(self) -> None:
        self._process.terminate()

    def stop_quietly(self) -> None:
        # One that is not ready logs nothing anyway, and may not have installed its signal handlers yet.
        self._process.send_signal(signal.SIGINT if self._is_ready else signal.SIGTERM)

    def kill(self) -> None:
        self._process.kill()

    async def _received(self, lines: Awaitable[bytes]) -> Report | None:
        try:
            report = read_report(await lines)
        except ConnectionError:
            return None  # it exited before it had read its settings
        if isinstance(report, Failed):
            self._message = report.message
        return report
