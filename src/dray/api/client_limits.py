"""Limits of clients on this broker, and what they have used of them.

Which quotas apply is decided once for each user and client id, and again after the quotas have changed. Usage
outlives a change: it is kept for each quota by those who share it, and dropped when it no longer matters.
"""

from typing import Final

import msgspec

from dray.cluster.quotas import ClientQuotas
from dray.quotas import QuotaKey, RateWindow, TokenBucket, share_of
from dray.runtime import Clock

_CLIENTS_MAX: Final = 10_000
"""Clients that are remembered; with the next one, all are looked up again."""


class RateLimit(msgspec.Struct, frozen=True):
    """A limit of a rate, and the rate."""

    window: RateWindow
    limit: float


class TokenLimit(msgspec.Struct, frozen=True):
    """A limit of tokens per second, and the tokens."""

    bucket: TokenBucket
    limit: float


class ClientLimits(msgspec.Struct, frozen=True):
    """The limits of a client; None where it has none."""

    produced: RateLimit | None
    """Bytes of Produce requests."""
    fetched: RateLimit | None
    """Bytes of Fetch responses."""
    processing: RateLimit | None
    """Percent of the time of the event loop."""
    mutations: TokenLimit | None
    """Partitions that are created or deleted."""


class LimitsOfClients:
    """The limits of all clients of this broker."""

    def __init__(self, quotas: ClientQuotas, clock: Clock) -> None:
        self._quotas = quotas
        self._clock = clock
        self._version = -1
        self._clients: dict[tuple[str, str], ClientLimits | None] = {}
        self._windows: dict[tuple[QuotaKey, str, str], RateWindow] = {}
        self._buckets: dict[tuple[str, str], TokenBucket] = {}

    def of(self, user: str, client_id: str) -> ClientLimits | None:
        """Return the limits of a client; None if it has none at all."""
        if self._version != self._quotas.version:
            self._version = self._quotas.version
            self._clients.clear()
        known = self._clients.get((user, client_id), _UNKNOWN)
        return self._look_up(user, client_id) if known is _UNKNOWN else known

    def forget_unused(self) -> None:
        """Forget all clients, and the usage that does not matter any more."""
        now_ms = self.now_ms()
        self._clients.clear()
        self._windows = {key: one for key, one in self._windows.items() if not one.is_empty(now_ms)}
        self._buckets = {key: one for key, one in self._buckets.items() if not one.is_full(now_ms)}

    def now_ms(self) -> int:
        """Return the time that rates and tokens are measured with."""
        return int(self._clock.monotonic() * 1000)

    def _look_up(self, user: str, client_id: str) -> ClientLimits | None:
        if len(self._clients) >= _CLIENTS_MAX:
            self.forget_unused()
        limits = ClientLimits(
            self._rate(QuotaKey.PRODUCER_BYTE_RATE, user, client_id),
            self._rate(QuotaKey.CONSUMER_BYTE_RATE, user, client_id),
            self._rate(QuotaKey.REQUEST_PERCENTAGE, user, client_id),
            self._tokens(user, client_id),
        )
        found = None if limits == _UNLIMITED else limits
        self._clients[user, client_id] = found
        return found

    def _rate(self, key: QuotaKey, user: str, client_id: str) -> RateLimit | None:
        share = share_of(self._quotas.limits(key), user, client_id)
        if share is None:
            return None
        window = self._windows.setdefault((key, share.user, share.client_id), RateWindow())
        return RateLimit(window, share.limit)

    def _tokens(self, user: str, client_id: str) -> TokenLimit | None:
        share = share_of(self._quotas.limits(QuotaKey.CONTROLLER_MUTATION_RATE), user, client_id)
        if share is None:
            return None
        return TokenLimit(self._buckets.setdefault((share.user, share.client_id), TokenBucket()), share.limit)


_UNLIMITED: Final = ClientLimits(None, None, None, None)
_UNKNOWN: Final = ClientLimits(None, None, None, None)
"""Stands for a client that has not been looked up; compared by identity."""
