"""Randomness as an input: no other code uses the system's."""

import random
from typing import Protocol


class Entropy(Protocol):
    """A source of random bytes and numbers."""

    def token(self, size: int) -> bytes:
        """Return `size` random bytes, unique for any useful size."""
        ...

    def uniform(self, low: float, high: float) -> float:
        """Return a number between the two, uniformly distributed."""
        ...


class SystemEntropy:
    """The randomness of this machine."""

    def __init__(self) -> None:
        self._random = random.SystemRandom()

    def token(self, size: int) -> bytes:
        return self._random.randbytes(size)

    def uniform(self, low: float, high: float) -> float:
        return self._random.uniform(low, high)
