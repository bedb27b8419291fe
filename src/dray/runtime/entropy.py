"""Randomness as an input."""

import random
from typing import Protocol


class Entropy(Protocol):
    """What the rest of Dray knows of chance."""

    def token(self, size: int) -> bytes:
        """Return `size` bytes that nobody else gets."""
        ...

    def uniform(self, low: float, high: float) -> float:
        """Return any number between the two, all equally likely."""
        ...


class SystemEntropy:
    """The machine's own randomness."""

    def __init__(self) -> None:
        self._random = random.SystemRandom()

    def token(self, size: int) -> bytes:
        return self._random.randbytes(size)

    def uniform(self, low: float, high: float) -> float:
        return self._random.uniform(low, high)


class SeededEntropy:
    """The same choices for the same seed; for simulation only."""

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)

    def token(self, size: int) -> bytes:
        return self._random.randbytes(size)

    def uniform(self, low: float, high: float) -> float:
        return self._random.uniform(low, high)
