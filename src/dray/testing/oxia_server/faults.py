"""Faults of the server's requests: lost, late and duplicate ones.

A request that was received is executed even if its caller has gone, as with Oxia: a lost response says
nothing about the request.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from google.protobuf.message import Message

from dray.runtime import Entropy


@dataclass(frozen=True, slots=True)
class Fault:
    """The treatment of one request."""

    executed_after_s: float | None = 0.0
    """`None`: never."""
    again_after_s: float | None = None
    """When the same request is executed once more."""
    answered: bool = False
    """Whether the caller gets the response of the first execution."""
    hangs: bool = False
    """Instead of an error, the caller gets nothing until its timeout."""


REFUSED: Final = Fault(executed_after_s=None)
ANSWER_LOST: Final = Fault()


def late(seconds: float) -> Fault:
    """Execute the request after its caller was answered with an error."""
    return Fault(executed_after_s=seconds)


def twice(seconds: float) -> Fault:
    """Execute and answer the request, and execute it again later."""
    return Fault(again_after_s=seconds, answered=True)


def slow(seconds: float) -> Fault:
    return Fault(executed_after_s=seconds, answered=True)


class Faults(Protocol):
    def draw(self, method: str, request: Message) -> Fault | None:
        """Return the treatment of a request, `None` if it is served as usual."""
        ...


class NoFaults:
    def draw(self, method: str, request: Message) -> Fault | None:  # noqa: ARG002 - part of the protocol
        return None


class ScriptedFaults:
    """One fault for each of the next requests of a method; then none."""

    def __init__(self, method: str, script: Sequence[Fault | None]) -> None:
        self._method = method
        self._script = list(script)
        self.finished = asyncio.Event()
        """Set once the last fault was drawn."""

    def draw(self, method: str, request: Message) -> Fault | None:  # noqa: ARG002 - part of the protocol
        if method != self._method or not self._script:
            return None
        fault = self._script.pop(0)
        if not self._script:
            self.finished.set()
        return fault


class RandomFaults:
    """Faults of random requests, half of them of writes; late ones arrive within `late_s`."""

    def __init__(self, entropy: Entropy, odds: float = 0.2, late_s: float = 0.2) -> None:
        self._entropy = entropy
        self._odds = odds
        self._late_s = late_s
        self.drawn = 0

    def draw(self, method: str, request: Message) -> Fault | None:  # noqa: ARG002 - part of the protocol
        odds = self._odds if method == "Write" else self._odds / 4
        if self._entropy.uniform(0, 1) >= odds:
            return None
        self.drawn += 1
        seconds = self._entropy.uniform(0, self._late_s)
        kinds = (REFUSED, ANSWER_LOST, late(seconds), twice(seconds), slow(seconds / 10))
        return kinds[int(self._entropy.uniform(0, len(kinds) - 1e-9))]
