"""Quotas of the client of one request: what the request uses, and how long the client is throttled for it."""

from typing import Final

from dray.api.client_limits import ClientLimits, LimitsOfClients, RateLimit
from dray.quotas import WINDOW_MS, QuotaKey
from dray.quotas.rates import FULL_WINDOWS, THROTTLE_MS_MAX

_PERCENT: Final = 100.0
_UNLIMITED: Final = 2**31 - 1


class RequestQuota:
    """What one request uses of its client's limits."""

    def __init__(self, limits: ClientLimits, clients: LimitsOfClients) -> None:
        self._limits = limits
        self._clients = clients
        self._owed_since_ms = 0
        self._owed_ms = 0
        self._fetched: tuple[int, int] | None = None
        self.throttle_ms = 0
        """How long the client is throttled, by the longest of all reasons."""
        self.reason: QuotaKey | None = None

    @property
    def fetch_bytes_max(self) -> int:
        """The largest response that does not exceed the limit by itself, as Kafka computes it."""
        if self._limits.fetched is None:
            return _UNLIMITED
        return int(min(self._limits.fetched.limit * FULL_WINDOWS * WINDOW_MS / 1000, _UNLIMITED))

    @property
    def counts_processing(self) -> bool:
        """Whether the time of the event loop is limited."""
        return self._limits.processing is not None

    @property
    def counts_fetched(self) -> bool:
        return self._limits.fetched is not None

    def take_mutations(self, partitions: int, *, strict: bool) -> int:
        """Count partitions that are created or deleted; returns for how long the client is above its limit.

        If it is so before with `strict`, the partitions do not count, and must not be created or deleted.
        """
        mutations = self._limits.mutations
        if mutations is None:
            return 0
        now_ms = self._clients.now_ms()
        owed_ms = mutations.bucket.throttle_ms(mutations.limit, now_ms)
        if strict and owed_ms > 0:
            return owed_ms
        mutations.bucket.spend(partitions, mutations.limit, now_ms)
        return 0 if strict else mutations.bucket.throttle_ms(mutations.limit, now_ms)

    def throttle_mutations(self, throttle_ms: int) -> None:
        """Throttle the client from now on; the time until the response counts."""
        self._owed_since_ms, self._owed_ms = self._clients.now_ms(), throttle_ms

    def count_produced(self, request_bytes: int) -> None:
        if self._limits.produced is not None:
            self._count(QuotaKey.PRODUCER_BYTE_RATE, self._limits.produced, request_bytes)

    def count_fetched(self, response_bytes: int) -> None:
        if self._limits.fetched is not None:
            now_ms = self._count(QuotaKey.CONSUMER_BYTE_RATE, self._limits.fetched, response_bytes)
            self._fetched = response_bytes, now_ms

    def take_back_fetched(self) -> None:
        """Forget the bytes of a response that is not sent."""
        if self._limits.fetched is not None and self._fetched is not None:
            response_bytes, now_ms = self._fetched
            self._limits.fetched.window.record(-response_bytes, now_ms)

    def count_processing(self, seconds: float) -> None:
        if self._limits.processing is not None:
            percent = seconds * _PERCENT
            self._count(QuotaKey.REQUEST_PERCENTAGE, self._limits.processing, percent, most_ms=WINDOW_MS)

    def count_mutations(self) -> None:
        """Throttle the client for the mutations of this request."""
        if not self._owed_ms:
            return
        elapsed_ms = self._clients.now_ms() - self._owed_since_ms
        self._throttle(QuotaKey.CONTROLLER_MUTATION_RATE, self._owed_ms - elapsed_ms)

    def _count(self, key: QuotaKey, rate: RateLimit, value: float, *, most_ms: int = THROTTLE_MS_MAX) -> int:
        now_ms = self._clients.now_ms()
        rate.window.record(value, now_ms)
        self._throttle(key, rate.window.throttle_ms(rate.limit, now_ms, most_ms=most_ms))
        return now_ms

    def _throttle(self, key: QuotaKey, throttle_ms: int) -> None:
        if throttle_ms > self.throttle_ms:
            self.throttle_ms, self.reason = throttle_ms, key
