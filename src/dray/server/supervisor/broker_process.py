"""One broker under supervision, across restarts.

A broker that exits without being asked is restarted after a backoff that grows until the broker has stayed up
for a while. It comes back with the same id and addresses, even where these had been chosen for it: clients
know them.
"""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from msgspec import structs

from dray.observe import get_logger
from dray.runtime import Clock, RetrySettings
from dray.runtime.retry import ceilings_ms
from dray.server.errors import EXIT_FAILED
from dray.server.supervisor.child_process import ChildProcess, ExitStatus
from dray.server.supervisor.messages import Ready
from dray.settings import DraySettings

Launch: TypeAlias = Callable[[DraySettings], ChildProcess]

STEADY_SECONDS: Final = 60.0
"""A process that was up for this long is healthy; its next backoff is the first one again."""

_BACKOFF: Final = RetrySettings(first_ms=1_000, factor=2, max_ms=30_000)
_log = get_logger("server")


class BrokerProcess:
    """A broker and its present process, if there is one."""

    def __init__(self, settings: DraySettings, launch: Launch, clock: Clock) -> None:
        self._settings = settings
        self._launch = launch
        self._clock = clock
        self._process: ChildProcess | None = None

    @property
    def name(self) -> str:
        return broker_name(self._settings)

    async def start(self) -> Ready | ExitStatus:
        """Launch a process; returns once it serves, or how it exited before it did."""
        try:
            self._process = self._launch(self._settings)
        except OSError as error:
            return ExitStatus(self.name, EXIT_FAILED, f"cannot start a process: {error.strerror}")
        ready = await self._process.ready()
        if ready is None:
            return await self._exited()
        broker = structs.replace(
            self._settings.broker, id=ready.broker_id, listen=ready.listen, http=ready.http
        )
        self._settings = structs.replace(self._settings, broker=broker)
        return ready

    async def keep_running(self) -> None:
        """Restart the broker whenever it exits. Called when it is up; runs until cancelled."""
        broker_id, backoff, status = self._settings.broker.id, restart_backoff_s(), await self._exited()
        while True:
            pause_s = next(backoff)
            _log.error("broker_exited", broker=broker_id, status=str(status), restart_in_s=pause_s)
            await self._clock.sleep(pause_s)
            outcome = await self.start()
            if isinstance(outcome, ExitStatus):
                status = outcome
                continue
            _log.info("broker_restarted", broker=broker_id, kafka=outcome.kafka)
            since = self._clock.monotonic()
            status = await self._exited()
            if self._clock.monotonic() - since >= STEADY_SECONDS:
                backoff = restart_backoff_s()

    async def _exited(self) -> ExitStatus:
        assert self._process is not None
        status = await self._process.exited()
        self._process = None  # there is nothing left to stop
        return status

    def stop(self) -> None:
        if self._process is not None:
            self._process.stop()

    def stop_quietly(self) -> None:
        if self._process is not None:
            self._process.stop_quietly()

    async def exited(self) -> ExitStatus | None:
        """Return how the present process exits; None if there is none."""
        return None if self._process is None else await self._process.exited()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()


def broker_name(settings: DraySettings) -> str:
    """Name a broker by its id, or until it has one, by its address."""
    broker = settings.broker
    return f"broker at {broker.listen}" if broker.id is None else f"broker {broker.id}"


def restart_backoff_s() -> Iterator[float]:
    """Yield how long to wait before each successive restart, in seconds."""
    return (ceiling / 1000 for ceiling in ceilings_ms(_BACKOFF))
