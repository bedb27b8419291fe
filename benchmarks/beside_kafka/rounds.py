"""Rounds of a benchmark that compares two systems: the order alternates, warm-ups are not counted."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from benchmarks.beside_kafka.readings import Measure, Readings

T = TypeVar("T")
Progress = Callable[[str], None]


class DiskTooSmall(RuntimeError):
    """The disk is too small for what would be written."""


class RoundScale(Protocol):
    """How often to measure."""

    @property
    def rounds(self) -> int: ...

    @property
    def warm_ups(self) -> int: ...


S = TypeVar("S", bound=RoundScale)


class Rounds(Generic[S]):
    """The rounds of one run and their readings so far."""

    def __init__(self, scale: S, directory: Path, names: Sequence[str], progress: Progress) -> None:
        self._scale = scale
        self._directory = directory
        self._names = names
        self._progress = progress
        self._readings = Readings()

    def _rounds(self) -> Iterator[int]:
        """Yield the numbers of rounds; negative ones are warm-ups."""
        yield from range(-self._scale.warm_ups, self._scale.rounds)

    def _alternating(self, both: Sequence[T], number: int) -> Sequence[T]:
        return both if number % 2 == 0 else both[::-1]

    def _keep(self, number: int, server: str, read: Sequence[tuple[Measure, float]]) -> None:
        for measure, value in read if number >= 0 else ():
            self._readings.add(server, measure, value)

    def _say(self, number: int, what: str) -> None:
        named = f"round {number + 1} of {self._scale.rounds}" if number >= 0 else "warming up"
        self._progress(f"{named}: {what}")

    def _require_space(self, needed: int) -> None:
        free = shutil.disk_usage(self._directory).free
        if free < needed:
            raise DiskTooSmall(
                f"{needed / 1e9:.0f} GB are needed for temporary files, {free / 1e9:.0f} GB are free; "
                "set TMPDIR to a directory on a larger disk"
            )
