"""Simulated broker processes that start, run and exit by a script, in virtual time."""

import asyncio
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dray.server.supervisor.child_process import ChildProcess, ExitStatus
from dray.server.supervisor.messages import Ready
from dray.settings import DraySettings
from dray.testing.virtual_loop import virtual_loop

FREE_PORT = 40_000


@dataclass(frozen=True, slots=True)
class Script:
    """The course of one process; times in seconds."""

    starts_in: float = 1.0
    fails: str | None = None
    """Why it cannot start, reported when it should have been up."""
    fails_with: int = 1
    runs_for: float = math.inf
    exits_with: int = -9
    stops_in: float = 0.5
    stops_with: int = 0


@dataclass(slots=True)
class Launcher:
    """Launches processes by their scripts and records events: `(time, broker, event)`."""

    scripts: Mapping[int, Iterator[Script]]
    journal: list[tuple[float, int, str]] = field(default_factory=list)
    processes: list["ScriptedProcess"] = field(default_factory=list)
    launch_fails_at: set[float] = field(default_factory=set)

    def launch(self, settings: DraySettings) -> ChildProcess:
        now = virtual_loop().time()
        if now in self.launch_fails_at:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        broker_id = settings.broker.id or 1
        self.journal.append((now, broker_id, f"starts on {settings.broker.listen}"))
        self.processes.append(ScriptedProcess(broker_id, next(self.scripts[broker_id]), self))
        return self.processes[-1]

    def times(self, broker_id: int, event: str) -> list[float]:
        return [time for time, one, noted in self.journal if one == broker_id and noted.startswith(event)]


class ScriptedProcess:
    def __init__(self, broker_id: int, script: Script, launcher: Launcher) -> None:
        self._broker_id = broker_id
        self._script = script
        self._launcher = launcher
        self._exited: asyncio.Future[ExitStatus] = virtual_loop().create_future()
        if script.fails is None:
            virtual_loop().call_later(script.starts_in + script.runs_for, self._exit, script.exits_with)
        else:
            virtual_loop().call_later(script.starts_in, self._exit, script.fails_with)

    @property
    def has_exited(self) -> bool:
        return self._exited.done()

    async def ready(self) -> Ready | None:
        up = virtual_loop().create_future()
        virtual_loop().call_later(self._script.starts_in, up.set_result, None)
        await asyncio.wait([up, self._exited], return_when=asyncio.FIRST_COMPLETED)
        if self.has_exited or self._script.fails is not None:
            return None
        port = FREE_PORT + self._broker_id
        kafka, http = f"127.0.0.1:{port}", f"127.0.0.1:{port + 100}"
        return Ready(self._broker_id, kafka, kafka, http)

    async def exited(self) -> ExitStatus:
        return await asyncio.shield(self._exited)

    def stop(self) -> None:
        self._record("asked to stop")
        virtual_loop().call_later(self._script.stops_in, self._exit, self._script.stops_with)

    def stop_quietly(self) -> None:
        self._record("stopped quietly")
        virtual_loop().call_later(self._script.stops_in, self._exit, self._script.stops_with)

    def kill(self) -> None:
        if not self.has_exited:
            self._record("killed")
            self._exit(-9)

    def _exit(self, code: int) -> None:
        if not self.has_exited:
            self._record("exits")
            self._exited.set_result(ExitStatus(f"broker {self._broker_id}", code, self._script.fails))

    def _record(self, event: str) -> None:
        self._launcher.journal.append((virtual_loop().time(), self._broker_id, event))
