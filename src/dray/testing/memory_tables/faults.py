"""Faults of calls to the in-memory catalog.

refuse        the catalog is unavailable; the call has no effect
lost_request  the caller gets no response; the call had no effect
lost_answer   the caller gets no response; the call took effect
conflict      another commit came first; the call has no effect (only calls that write)
dropped       another client drops the table just before the call
"""

from collections.abc import Iterable, Mapping
from typing import Final, Literal, Protocol

from dray.runtime import Entropy

Fault = Literal["refuse", "lost_request", "lost_answer", "conflict", "dropped"]

_FAULTS: Final[tuple[Fault, ...]] = ("refuse", "lost_request", "lost_answer", "conflict", "dropped")


class Faults(Protocol):
    """Chooses a fault, or none, for each call."""

    def draw(self, call: str) -> Fault | None: ...


class NoFaults:
    """No call fails."""

    def draw(self, call: str) -> Fault | None:
        del call
        return None


class ScriptedFaults:
    """Faults for the next calls of one name, in order; calls beyond the script succeed."""

    def __init__(self, call: str, faults: Iterable[Fault | None]) -> None:
        self._call = call
        self._left = list(faults)

    def draw(self, call: str) -> Fault | None:
        return self._left.pop(0) if call == self._call and self._left else None

    @property
    def spent(self) -> bool:
        """Whether every fault of the script has been drawn."""
        return not self._left


class SeededFaults:
    """Random faults for any call, with probabilities from 0 to 1."""

    def __init__(self, entropy: Entropy, chances: Mapping[Fault, float]) -> None:
        self._entropy = entropy
        self._chances = [(fault, chances.get(fault, 0.0)) for fault in _FAULTS]

    def draw(self, call: str) -> Fault | None:
        del call
        at = self._entropy.uniform(0, 1)
        for fault, chance in self._chances:
            if at < chance:
                return fault
            at -= chance
        return None
