"""Telling the operator what clients are only told as a number.

A client that fetches damaged records, or whose batch was not stored, asks again and again; the same complaint
is told once a minute.
"""

from collections import OrderedDict
from typing import Final

from dray.log.errors import LogDamaged, LogError
from dray.observe import get_logger
from dray.runtime import Clock

_AGAIN_S: Final = 60.0
_KEPT: Final = 1_000
_log = get_logger("log")


class Complaints:
    """What was told, and when."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._told: OrderedDict[str, float] = OrderedDict()

    def tell(self, error: LogError) -> None:
        """Write a line about it, unless the same was written a moment ago."""
        what, now = str(error), self._clock.monotonic()
        told = self._told.get(what)
        if told is not None and now - told < _AGAIN_S:
            return
        self._told[what] = now
        self._told.move_to_end(what)
        if len(self._told) > _KEPT:
            self._told.popitem(last=False)
        if isinstance(error, LogDamaged):
            _log.error("records_damaged", error=what)
        else:
            _log.warning("store_fails", error=what)
