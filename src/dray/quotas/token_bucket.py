"""Token bucket of controller mutations: partitions that a client may create and delete.

The bucket holds what the limit allows in 11 seconds, and refills at the limit. A request may take more than
there is; the client then has to wait until what it owes is refilled. Unlike in a rate over windows, a burst
delays a client only by what it exceeds.
"""

from dray.quotas.rates import THROTTLE_MS_MAX, WINDOW_MS, WINDOWS


class TokenBucket:
    """The tokens of one client, or of several that share a limit."""

    __slots__ = ("_limit", "_refilled_ms", "_tokens")

    def __init__(self) -> None:
        self._tokens = float("inf")
        """Unlimited until the first refill, which fills the bucket."""
        self._refilled_ms = 0
        self._limit = float("inf")

    def spend(self, tokens: float, limit: float, now_ms: int) -> None:
        """Take tokens, whether or not there are so many."""
        self._tokens = self.tokens(limit, now_ms) - tokens

    def tokens(self, limit: float, now_ms: int) -> float:
        """Return how many tokens there are; negative if some are owed."""
        refilled = limit * (now_ms - self._refilled_ms) / 1000
        self._tokens = min(_most(limit), self._tokens + refilled)
        self._refilled_ms, self._limit = now_ms, limit
        return self._tokens

    def throttle_ms(self, limit: float, now_ms: int) -> int:
        """Return how long the client has to pause until no tokens are owed."""
        owed = max(-self.tokens(limit, now_ms), 0.0)
        return min(int(owed / limit * 1000 + 0.5), THROTTLE_MS_MAX)

    def is_full(self, now_ms: int) -> bool:
        """Return whether the bucket is full again, at the limit of its last use."""
        refilled = self._limit * (now_ms - self._refilled_ms) / 1000
        return self._tokens + refilled >= _most(self._limit)


def _most(limit: float) -> float:
    """Return how many tokens the bucket holds."""
    return limit * WINDOWS * WINDOW_MS / 1000
