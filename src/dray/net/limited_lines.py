"""Log lines that any program which can connect may cause: at most some in a second."""

from typing import Final

from dray.net.metrics import Cause
from dray.observe import get_logger

_log = get_logger("net")
CLOSED_BY_CLIENT: Final = "the client closed the connection"
_FAILED_HANDSHAKES: Final = 1
_CLOSED_CONNECTIONS: Final = 10


class LineLimit:
    """Allows some lines in each second, and counts the others."""

    def __init__(self, per_second: int) -> None:
        self._per_second = per_second
        self._began = -1.0
        self._allowed = 0
        self._skipped = 0

    def allows(self, now: float) -> bool:
        """Return whether a line may be logged now."""
        if now - self._began >= 1:
            self._began, self._allowed = now, 0
        if self._allowed >= self._per_second:
            self._skipped += 1
            return False
        self._allowed += 1
        return True

    def skipped(self) -> dict[str, int]:
        """Return the number of lines that were not logged before this one, as a field if there are any."""
        skipped, self._skipped = self._skipped, 0
        return {"more": skipped} if skipped else {}


class LimitedLines:
    """The lines of all listeners."""

    def __init__(self) -> None:
        self._handshakes = LineLimit(_FAILED_HANDSHAKES)
        self._connections = LineLimit(_CLOSED_CONNECTIONS)

    def handshake_failed(self, now: float, listener: str, peer: str, reason: str) -> None:
        """Log a failed handshake; one that the client ended at debug level: load balancers probe ports so."""
        if reason == CLOSED_BY_CLIENT:
            _log.debug("tls_handshake_failed", listener=listener, peer=peer, reason=reason)
        elif self._handshakes.allows(now):
            more = self._handshakes.skipped()
            _log.warning("tls_handshake_failed", listener=listener, peer=peer, reason=reason, **more)

    def connection_closed(self, now: float, peer: str, cause: Cause, reason: str) -> None:
        """Log a connection that the broker closes."""
        if self._connections.allows(now):
            more = self._connections.skipped()
            _log.info("connection_closed", peer=peer, cause=cause, reason=reason, **more)
