"""TLS handshakes in progress: how many there may be, and the reasons why they fail.

At the limit the oldest handshake is ended, if it has taken so long that the client is most likely stuck or
hostile; otherwise further connections wait in the system's queue. So clients that connect but send nothing
cannot keep others out, and many clients that connect at once are only served more slowly.
"""

import asyncio
import ssl
from typing import Final

from dray.net.limited_lines import CLOSED_BY_CLIENT

PATIENCE_SECONDS: Final = 1.0
"""An honest handshake takes milliseconds of work and a few round trips."""
_POLL_SECONDS: Final = 0.05
_REASONS: Final = {
    "HTTP_REQUEST": "the client speaks HTTP",
    "WRONG_VERSION_NUMBER": "the client does not speak TLS; does it use security.protocol=PLAINTEXT?",
    "PACKET_LENGTH_TOO_LONG": "the client does not speak TLS; does it use security.protocol=PLAINTEXT?",
    "RECORD_LAYER_FAILURE": "the client does not speak TLS; does it use security.protocol=PLAINTEXT?",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the client presented no certificate",
    "UNSUPPORTED_PROTOCOL": "the client offers no enabled version of TLS (tls.protocols)",
    "NO_SHARED_CIPHER": "the client offers no enabled cipher suite (tls.ciphers)",
    "TLSV1_ALERT_UNKNOWN_CA": "the client does not trust this broker's certificate",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "the client does not trust this broker's certificate",
    "SSLV3_ALERT_BAD_CERTIFICATE": "the client rejects this broker's certificate",
}


class Handshakes:
    """The handshakes of all listeners."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._running: dict[asyncio.Task[None], float] = {}

    def __len__(self) -> int:
        return len(self._running)

    def wait_s(self, now: float) -> float:
        """Return for how long no handshake may begin; it is worth asking earlier, when some have ended."""
        if len(self._running) < self._at_once:
            return 0.0
        age = now - next(iter(self._running.values()))
        return 0.0 if age >= PATIENCE_SECONDS else min(PATIENCE_SECONDS - age, _POLL_SECONDS)

    def begin(self, handshake: "asyncio.Task[None]", now: float) -> None:
        """Add a handshake; at the limit, end the oldest."""
        if len(self._running) >= self._at_once:
            oldest = next(iter(self._running))
            del self._running[oldest]
            oldest.cancel()
        self._running[handshake] = now

    def end(self, handshake: "asyncio.Task[None]") -> None:
        self._running.pop(handshake, None)

    def cancel(self) -> None:
        """End all of them."""
        for handshake in list(self._running):
            handshake.cancel()


def reason_of(error: OSError, timeout_s: float) -> str:
    """Return why a handshake failed, for an operator."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the client's certificate is not accepted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return _REASONS.get(error.reason or "") or f"{error.reason or error}"
    if isinstance(error, ConnectionAbortedError):
        return f"it was not completed within {timeout_s:g} s"
    return CLOSED_BY_CLIENT
