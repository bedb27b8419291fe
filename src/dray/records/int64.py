"""Sums that wrap at 64 bits, as Java's do: hostile deltas must not make numbers that no store can hold."""

from typing import Final

_SPAN: Final = 2**64
_HALF: Final = 2**63


def wrapped(number: int) -> int:
    """Return `number` as a signed 64-bit number."""
    if -_HALF <= number < _HALF:
        return number
    return (number + _HALF) % _SPAN - _HALF
