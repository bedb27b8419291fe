"""Log events of a slow start: what it is blocked on, and what to do."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from dray.meta.port import Unavailable
from dray.observe import get_logger
from dray.runtime import Clock, Tasks

SLOW_SECONDS: Final = 1.0
"""A step of the start that takes longer is logged."""
_PAUSE_SECONDS: Final = 1.0
"""The pause between attempts to open a store; each attempt repeats its requests for some time."""
T = TypeVar("T")
_log = get_logger("server")


@asynccontextmanager
async def log_if_slow(reason: str, remedy: str, clock: Clock, tasks: Tasks) -> AsyncIterator[None]:
    """Log what a start is blocked on once the block takes long, and again when it succeeds."""
    began = clock.monotonic()
    logging = tasks.start(_log_later(reason, remedy, clock), name="log-if-slow")
    try:
        yield
    finally:
        logging.cancel()
    seconds = clock.monotonic() - began
    if seconds >= SLOW_SECONDS:
        _log.info("startup_unblocked", reason=reason, seconds=round(seconds, 1))


async def when_available(open_store: Callable[[], Awaitable[T]], url: str, clock: Clock, tasks: Tasks) -> T:
    """Open a metadata store, for as long as it takes; the log says what is wrong with each attempt."""
    reason, remedy = f"the metadata store {url} does not respond", "check its URL and that it is reachable"
    async with log_if_slow(reason, remedy, clock, tasks):
        while True:
            try:
                return await open_store()
            except Unavailable as error:
                _log.warning("metadata_unavailable", error=str(error), retry_in_s=_PAUSE_SECONDS)
            await clock.sleep(_PAUSE_SECONDS)


async def _log_later(reason: str, remedy: str, clock: Clock) -> None:
    await clock.sleep(SLOW_SECONDS)
    _log.warning("startup_blocked", reason=reason, remedy=remedy)
