"""Verdicts on seeds, and runs of many seeds in several processes."""

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Final, TypeVar

_CHUNK: Final = 4
_SEEDS_PER_NETWORKED: Final = 4


def is_networked(seed: int) -> bool:
    """Return whether a seed is simulated with a networked metadata store unless requested otherwise."""
    return seed % _SEEDS_PER_NETWORKED == _SEEDS_PER_NETWORKED - 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of one seed."""

    seed: int
    violations: tuple[str, ...]
    lines: tuple[str, ...] = ()
    """The history, to read and to compare two runs."""
    acknowledged: int = 0
    """Batches, or in the simulation of groups offset commits."""
    crashes: int = 0
    steps: int = 0

    def report(self, *, history: bool) -> str:
        """Return the violations as text, with the history if asked for."""
        lines = [f"seed {self.seed}:", *(f"  {line}" for line in self.violations)]
        return "\n".join([*lines, *self.lines] if history else lines)


V = TypeVar("V", bound=Verdict)


def simulate_seeds(
    simulate: Callable[[int], V], verdict: type[V], seeds: Sequence[int], workers: int | None
) -> Iterator[V]:
    """Simulate seeds in worker processes and yield the verdicts in their order."""
    # Spawned, not forked: the caller may have threads.
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_silence_log) as pool:
        yield from pool.map(partial(_simulate, simulate, verdict), seeds, chunksize=_CHUNK)


def _simulate(simulate: Callable[[int], V], verdict: type[V], seed: int) -> V:
    """Simulate a seed; a failure of the simulation itself is a violation too, and does not end the run."""
    try:
        return simulate(seed)
    except Exception as error:  # noqa: BLE001 - reported as the seed's verdict
        return verdict(seed, (f"simulation failed: {error!r}",))


def _silence_log() -> None:
    """Suppress the errors that simulated faults cause."""
    logging.getLogger("dray").setLevel(logging.CRITICAL)
