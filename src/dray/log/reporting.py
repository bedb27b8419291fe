"""Error reporter: log lines for errors that clients see only as a number.

A client that fetches damaged records, or whose batch is not stored, keeps retrying; the same error is logged
at most once a minute.
"""

from collections import OrderedDict
from typing import Final

from dray.log.errors import LogDamaged, LogError
from dray.observe import get_logger
from dray.runtime import Clock

_INTERVAL_S: Final = 60.0
_REMEMBERED_MAX: Final = 1_000
_log = get_logger("log")


class ErrorReporter:
    """Remembers which errors were logged, and when."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._logged_at: OrderedDict[str, float] = OrderedDict()

    def report(self, error: LogError) -> None:
        """Log an error, unless the same one was logged a moment ago."""
        message, now = str(error), self._clock.monotonic()
        logged_at = self._logged_at.get(message)
        if logged_at is not None and now - logged_at < _INTERVAL_S:
            return
        self._logged_at[message] = now
        self._logged_at.move_to_end(message)
        if len(self._logged_at) > _REMEMBERED_MAX:
            self._logged_at.popitem(last=False)
        if isinstance(error, LogDamaged):
            _log.error("records_damaged", error=message)
        else:
            _log.warning("store_unavailable", error=message)
