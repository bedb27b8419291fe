"""What can befall a call on its way to the catalogue in memory.

refuse        the catalogue is away; nothing happens
lost_request  no answer comes; nothing happened
lost_answer   no answer comes; it happened
conflict      others were first; nothing happens (calls that only read are spared)
dropped       somebody drops the table just before
"""

from collections.abc import Iterable, Mapping
from typing import Final, Literal, Protocol

from dray.runtime import Entropy

Fault = Literal["refuse", "lost_request", "lost_answer", "conflict", "dropped"]

_FAULTS: Final[tuple[Fault, ...]] = ("refuse", "lost_request", "lost_answer", "conflict", "dropped")


class Faults(Protocol):
    """Decides, for each call, what befalls it."""

    def draw(self, call: str) -> Fault | None: ...


class NoFaults:
    """Every call gets through."""

    def draw(self, call: str) -> Fault | None:
        del call
        return None


class ScriptedFaults:
    """Befalls the next calls of a name, in order; what is not scripted gets through."""

    def __init__(self, call: str, faults: Iterable[Fault | None]) -> None:
        self._call = call
        self._left = list(faults)

    def draw(self, call: str) -> Fault | None:
        return self._left.pop(0) if call == self._call and self._left else None

    @property
    def spent(self) -> bool:
        """Whether everything in the script has happened."""
        return not self._left


class SeededFaults:
    """Befalls any call with the chances given, each from 0 to 1."""

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
