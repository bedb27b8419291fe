"""Broker processes that are none: they start, live and end by a script, in virtual time."""

import asyncio
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dray.cli.fleet.messages import Ready
from dray.cli.fleet.process import Ending, Life
from dray.cli.settings import DraySettings
from dray.testing.virtual_loop import virtual_loop

FREE_PORT = 40_000


@dataclass(frozen=True, slots=True)
class Script:
    """How one life goes; times in seconds."""

    starts_in: float = 1.0
    fails: str | None = None
    """Why it cannot start, told when it should have been up."""
    fails_with: int = 1
    lives: float = math.inf
    dies_of: int = -9
    stops_in: float = 0.5
    stops_with: int = 0


@dataclass(slots=True)
class Stage:
    """Hands out lives by their scripts and notes what happened when: `(time, broker, what)`."""

    scripts: Mapping[int, Iterator[Script]]
    journal: list[tuple[float, int, str]] = field(default_factory=list)
    lives: list["ScriptedLife"] = field(default_factory=list)
    no_process_at: set[float] = field(default_factory=set)

    def launch(self, settings: DraySettings) -> Life:
        now = virtual_loop().time()
        if now in self.no_process_at:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        broker_id = settings.broker.id
        self.journal.append((now, broker_id, f"starts on {settings.broker.listen}"))
        self.lives.append(ScriptedLife(broker_id, next(self.scripts[broker_id]), self))
        return self.lives[-1]

    def times(self, broker_id: int, what: str) -> list[float]:
        return [time for time, one, noted in self.journal if one == broker_id and noted.startswith(what)]


class ScriptedLife:
    def __init__(self, broker_id: int, script: Script, stage: Stage) -> None:
        self._broker_id = broker_id
        self._script = script
        self._stage = stage
        self._ended: asyncio.Future[Ending] = virtual_loop().create_future()
        if script.fails is None:
            virtual_loop().call_later(script.starts_in + script.lives, self._end, script.dies_of)
        else:
            virtual_loop().call_later(script.starts_in, self._end, script.fails_with)

    @property
    def over(self) -> bool:
        return self._ended.done()

    async def ready(self) -> Ready | None:
        up = virtual_loop().create_future()
        virtual_loop().call_later(self._script.starts_in, up.set_result, None)
        await asyncio.wait([up, self._ended], return_when=asyncio.FIRST_COMPLETED)
        if self.over or self._script.fails is not None:
            return None
        port = FREE_PORT + self._broker_id
        return Ready(f"127.0.0.1:{port}", f"127.0.0.1:{port}", f"127.0.0.1:{port + 100}")

    async def ended(self) -> Ending:
        return await asyncio.shield(self._ended)

    def stop(self) -> None:
        self._note("told to stop")
        virtual_loop().call_later(self._script.stops_in, self._end, self._script.stops_with)

    def dismiss(self) -> None:
        self._note("dismissed")
        virtual_loop().call_later(self._script.stops_in, self._end, self._script.stops_with)

    def kill(self) -> None:
        if not self.over:
            self._note("killed")
            self._end(-9)

    def _end(self, code: int) -> None:
        if not self.over:
            self._note("ends")
            self._ended.set_result(Ending(f"broker {self._broker_id}", code, self._script.fails))

    def _note(self, what: str) -> None:
        self._stage.journal.append((virtual_loop().time(), self._broker_id, what))
