"""Repeatable randomness for simulations and tests."""

import random


class SeededEntropy:
    """The same sequence of random bytes and numbers for the same seed."""

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed)

    def token(self, size: int) -> bytes:
        return self._random.randbytes(size)

    def uniform(self, low: float, high: float) -> float:
        return self._random.uniform(low, high)
