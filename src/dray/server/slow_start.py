"""Log events of a slow start: what it is blocked on, and what to do."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from dray.observe import get_logger
from dray.runtime import Clock, Tasks

SLOW_SECONDS: Final = 1.0
"""A step of the start that takes longer is logged."""
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


async def _log_later(reason: str, remedy: str, clock: Clock) -> None:
    await clock.sleep(SLOW_SECONDS)
    _log.warning("startup_blocked", reason=reason, remedy=remedy)
