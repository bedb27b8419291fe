"""Nobody should sit before a command that says nothing and wonder.

A start waits for others: a store that does not answer, an id that is taken. What takes longer than a moment
is told in the log as it begins to be long, and again when it has come to a good end. A bad end tells itself.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from dray.observe import get_logger
from dray.runtime import Clock, Tasks

MOMENT_SECONDS: Final = 1.0
_log = get_logger("cli")


@asynccontextmanager
async def told_if_long(what: str, clock: Clock, tasks: Tasks) -> AsyncIterator[None]:
    """Say what is waited for, should the block take longer than a moment."""
    began = clock.monotonic()
    telling = tasks.start(_tell_later(what, clock), name="waiting")
    try:
        yield
    finally:
        telling.cancel()
    seconds = clock.monotonic() - began
    if seconds >= MOMENT_SECONDS:
        _log.info("waited", waited_for=what, seconds=round(seconds, 1))


async def _tell_later(what: str, clock: Clock) -> None:
    await clock.sleep(MOMENT_SECONDS)
    _log.warning("waiting", waiting_for=what)
