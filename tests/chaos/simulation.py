"""The simulation as a part of the soak: many seeds, on all cores."""

import logging
import os
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from dray.testing.sim import Verdict, simulate
from dray.testing.sim.tables import Counts, TableVerdict, simulate_tables
from tests.chaos.ordeal import Figures

_PROGRESS_EVERY = 500
_CHUNK = 10


def simulate_many(seeds: int, say: Callable[[str], None], *, first: int = 0) -> Figures:
    """Live through that many seeds; what is acknowledged are batches here, and a fault is a crash."""
    crashes = acknowledged = 0
    wrong: list[str] = []
    # Spawned, not forked: this process may have threads by then.
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn"), initializer=_be_quiet) as pool:
        verdicts = pool.map(_live, range(first, first + seeds), chunksize=_CHUNK)
        for done, verdict in enumerate(verdicts, 1):
            crashes += verdict.crashes
            acknowledged += verdict.acknowledged
            wrong += [f"seed {verdict.seed}: {line}" for line in verdict.violations]
            if done % _PROGRESS_EVERY == 0 or done == seeds:
                say(f"{done} of {seeds}")
    return Figures(Counter({f"crashes in {seeds} seeds": crashes}), acknowledged, wrong=tuple(wrong))


def simulate_tables_many(seeds: int, say: Callable[[str], None], *, first: int = 0) -> Figures:
    """The same for topics that are tables, with compactors, sweeps and retention."""
    counts, acknowledged = Counts(), 0
    wrong: list[str] = []
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn"), initializer=_be_quiet) as pool:
        verdicts = pool.map(_live_tables, range(first, first + seeds), chunksize=_CHUNK)
        for done, verdict in enumerate(verdicts, 1):
            counts.add(verdict.counts)
            acknowledged += verdict.acknowledged
            wrong += [f"seed {verdict.seed}: {line}" for line in verdict.violations]
            if done % _PROGRESS_EVERY == 0 or done == seeds:
                say(f"{done} of {seeds}, {counts}")
    wrong += [f"{what} never happened in {seeds} seeds" for what in counts.missing]
    return Figures(Counter({f"crashes in {seeds} seeds": counts.crashes}), acknowledged, wrong=tuple(wrong))


def _live_tables(seed: int) -> TableVerdict:
    try:
        return simulate_tables(seed)
    except Exception as error:  # noqa: BLE001 - told as the seed's verdict
        return TableVerdict(seed, (f"broken off: {error!r}",), (), acknowledged=0, steps=0, counts=Counts())


def _live(seed: int) -> Verdict:
    """A seed that breaks the simulation itself is a violation too, and no reason to end the run."""
    try:
        return simulate(seed)
    except Exception as error:  # noqa: BLE001 - told as the seed's verdict
        return Verdict(seed, (f"broken off: {error!r}",), (), acknowledged=0, crashes=0, steps=0)


def _be_quiet() -> None:
    """Simulated faults are no news."""
    logging.getLogger("dray").setLevel(logging.CRITICAL)
