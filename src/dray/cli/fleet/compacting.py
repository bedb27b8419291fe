"""The compactor beside the brokers of `dray up`: a process of its own, because it brings Spark along.

Nobody produces or fetches less because of it. If something that it needs is not there, that is told in one
line and the brokers run on; if it dies, it is started again after a pause, and goes on where it was.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

from dray.cli.failure import EXIT_FAILED, EXIT_USAGE
from dray.cli.fleet.member import STEADY_SECONDS, pauses
from dray.cli.fleet.process import ChildProcess, Ending, Life
from dray.cli.settings import DraySettings
from dray.observe import get_logger
from dray.runtime import Clock, Tasks

NAME: Final = "compactor"
_MEMORY: Final = "memory:"
_BROKERS_FIRST_SECONDS: Final = 3.0
_STOP_SECONDS: Final = 10.0
_log = get_logger("cli")


@asynccontextmanager
async def compacting_beside(settings: DraySettings, clock: Clock) -> AsyncIterator[None]:
    """Compact what is in these stores for the time of an `async with`."""
    if _MEMORY in (settings.metadata.url, settings.storage.url):
        yield  # nobody but the broker can see it
        return
    tasks, compacting = Tasks(), Compacting(lambda: ChildProcess(NAME, settings, clock), clock)
    tasks.start(compacting.keep(), name=NAME)
    try:
        yield
    finally:
        await tasks.stop()
        await compacting.stop()


class Compacting:
    """Keeps a compactor running from `keep` to `stop`."""

    def __init__(self, launch: Callable[[], Life], clock: Clock) -> None:
        self._launch = launch
        self._clock = clock
        self._life: Life | None = None

    async def keep(self) -> None:
        """Start it whenever it is not there; goes on until cancelled, or until there is no hope."""
        await self._clock.sleep(_BROKERS_FIRST_SECONDS)
        waits = pauses()
        while True:
            since = self._clock.monotonic()
            ending = await self._live()
            if ending.code == EXIT_USAGE:
                _log.warning("topics_do_not_become_tables", why=ending.message)
                return
            if self._clock.monotonic() - since >= STEADY_SECONDS:
                waits = pauses()
            pause = next(waits)
            _log.error("compactor_ended", how=str(ending), starts_again_in_s=pause)
            await self._clock.sleep(pause)

    async def stop(self) -> None:
        """End it, after `keep` was cancelled. It may be ended at any moment, so it is not waited for long."""
        life, self._life = self._life, None
        if life is None:
            return
        life.stop()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(_STOP_SECONDS):
                    await life.ended()
        finally:
            life.kill()
        await life.ended()

    async def _live(self) -> Ending:
        try:
            self._life = self._launch()
        except OSError as error:
            return Ending(NAME, EXIT_FAILED, f"no process can be started: {error.strerror}")
        await self._life.ready()
        ending = await self._life.ended()
        self._life = None
        return ending
