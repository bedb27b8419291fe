"""One broker of a fleet, through all its lives.

A broker that ends without being told to is started again, after a pause that grows as long as it does not
stay up. It comes back at the same addresses, also where the system had chosen the ports: clients know them.
"""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from msgspec import structs

from dray.cli.failure import EXIT_FAILED
from dray.cli.fleet.messages import Ready
from dray.cli.fleet.process import Ending, Life
from dray.cli.settings import DraySettings
from dray.observe import get_logger
from dray.runtime import Clock, RetrySettings
from dray.runtime.retry import ceilings_ms

Launch: TypeAlias = Callable[[DraySettings], Life]

STEADY_SECONDS: Final = 60.0
"""Who was up for this long has stayed up; the next pause is the first one again."""

_PAUSES: Final = RetrySettings(first_ms=1_000, factor=2, max_ms=30_000)
_log = get_logger("cli")


class Member:
    def __init__(self, settings: DraySettings, launch: Launch, clock: Clock) -> None:
        self._settings = settings
        self._launch = launch
        self._clock = clock
        self._life: Life | None = None

    @property
    def name(self) -> str:
        return broker_name(self._settings)

    async def start(self) -> Ready | Ending:
        """Begin a life; returns when it serves, or how it ended before it could."""
        try:
            self._life = self._launch(self._settings)
        except OSError as error:
            return Ending(self.name, EXIT_FAILED, f"no process can be started: {error.strerror}")
        ready = await self._life.ready()
        if ready is None:
            return await self._outlive()
        broker = structs.replace(self._settings.broker, listen=ready.listen, http=ready.http)
        self._settings = structs.replace(self._settings, broker=broker)
        return ready

    async def keep(self) -> None:
        """Start it again whenever it ends. Called when it is up; goes on until cancelled."""
        broker_id = self._settings.broker.id
        waits, ending = pauses(), await self._outlive()
        while True:
            pause = next(waits)
            _log.error("broker_ended", broker=broker_id, how=str(ending), starts_again_in_s=pause)
            await self._clock.sleep(pause)
            outcome = await self.start()
            if isinstance(outcome, Ending):
                ending = outcome
                continue
            _log.info("broker_is_back", broker=broker_id, kafka=outcome.kafka)
            since = self._clock.monotonic()
            ending = await self._outlive()
            if self._clock.monotonic() - since >= STEADY_SECONDS:
                waits = pauses()

    async def _outlive(self) -> Ending:
        assert self._life is not None
        ending = await self._life.ended()
        self._life = None  # it has been told of, and there is nothing left to stop
        return ending

    def stop(self) -> None:
        if self._life is not None:
            self._life.stop()

    def dismiss(self) -> None:
        if self._life is not None:
            self._life.dismiss()

    async def ended(self) -> Ending | None:
        """Return how the present life ends; None if there is none."""
        return None if self._life is None else await self._life.ended()

    def kill(self) -> None:
        if self._life is not None:
            self._life.kill()


def broker_name(settings: DraySettings) -> str:
    return f"broker {settings.broker.id}"


def pauses() -> Iterator[float]:
    """How long to wait before each next start, in seconds."""
    return (ceiling / 1000 for ceiling in ceilings_ms(_PAUSES))
