"""The compactor of `dray up`: a process of its own next to the brokers, because it loads Spark.

It never slows or fails produce and fetch. If something it needs is not installed, one line is logged and the
brokers run on; if it dies, it is restarted after a backoff and resumes where it stopped.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

from dray.observe import get_logger
from dray.runtime import Clock, Tasks
from dray.server.errors import EXIT_FAILED, EXIT_USAGE
from dray.server.stopping import Stop
from dray.server.store_urls import MEMORY
from dray.server.supervisor.broker_process import STEADY_SECONDS, restart_backoff_s
from dray.server.supervisor.child_process import ChildProcess, ExitStatus, SpawnedProcess
from dray.settings import DraySettings

NAME: Final = "compactor"
_DELAY_SECONDS: Final = 3.0
"""Brokers start first."""
_STOP_SECONDS: Final = 2.0
_log = get_logger("server")


@asynccontextmanager
async def compactor_sidecar(settings: DraySettings, clock: Clock, stop: Stop) -> AsyncIterator[None]:
    """Run a compactor on the stores of these settings until the block ends or a stop is requested.

    It stops while the brokers drain, so that it does not prolong the shutdown.
    """
    urls = {"metadata.url": settings.metadata.url, "storage.url": settings.storage.url}
    private = [key for key, url in urls.items() if url == MEMORY]
    if private:
        reason = f"{' and '.join(private)}: the compactor is another process and cannot reach {MEMORY}"
        _log.warning("compaction_disabled", reason=reason)
        yield
        return
    running, stopping = Tasks(), Tasks()
    sidecar = CompactorSidecar(lambda: SpawnedProcess(NAME, settings, clock), clock)
    running.start(sidecar.keep_running(), name=NAME)

    async def end() -> None:
        await running.stop()
        await sidecar.stop()

    ended: asyncio.Task[None] | None = None

    def end_once() -> asyncio.Task[None]:
        nonlocal ended
        ended = ended or stopping.start(end(), name="stop-compactor")
        return ended

    stop.subscribe(end_once)
    try:
        yield
    finally:
        await end_once()


class CompactorSidecar:
    """Keeps a compactor process running."""

    def __init__(self, launch: Callable[[], ChildProcess], clock: Clock) -> None:
        self._launch = launch
        self._clock = clock
        self._process: ChildProcess | None = None

    async def keep_running(self) -> None:
        """Restart the compactor whenever it exits, until cancelled or until a restart cannot help."""
        await self._clock.sleep(_DELAY_SECONDS)
        backoff = restart_backoff_s()
        while True:
            since = self._clock.monotonic()
            status = await self._run_once()
            if status.code == EXIT_USAGE:
                _log.warning("compaction_disabled", reason=status.message)
                return
            if self._clock.monotonic() - since >= STEADY_SECONDS:
                backoff = restart_backoff_s()
            pause_s = next(backoff)
            _log.error("compactor_exited", status=str(status), restart_in_s=pause_s)
            await self._clock.sleep(pause_s)

    async def stop(self) -> None:
        """Stop the process, after `keep_running` was cancelled; kill it if that takes long, which is safe."""
        process, self._process = self._process, None
        if process is None:
            return
        process.stop()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(_STOP_SECONDS):
                    await process.exited()
        finally:
            process.kill()
        await process.exited()

    async def _run_once(self) -> ExitStatus:
        try:
            self._process = self._launch()
        except OSError as error:
            return ExitStatus(NAME, EXIT_FAILED, f"cannot start a process: {error.strerror}")
        await self._process.ready()
        status = await self._process.exited()
        self._process = None
        return status
