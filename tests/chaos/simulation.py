"""Simulation part of the soak: many seeds, on all cores."""

import os
from collections import Counter
from collections.abc import Callable

from dray.testing.sim import Verdict, simulate
from dray.testing.sim.seeds import simulate_seeds
from dray.testing.sim.tables import Counts, TableVerdict, simulate_tables
from tests.chaos.experiment import Figures

_PROGRESS_EVERY = 500


def simulate_many(seeds: int, report: Callable[[str], None], *, first: int = 0) -> Figures:
    """Simulate that many seeds; `acknowledged` counts batches here, and a fault is a crash."""
    crashes = acknowledged = 0
    found: list[str] = []
    verdicts = simulate_seeds(simulate, Verdict, range(first, first + seeds), os.cpu_count())
    for done, verdict in enumerate(verdicts, 1):
        crashes += verdict.crashes
        acknowledged += verdict.acknowledged
        found += [f"seed {verdict.seed}: {line}" for line in verdict.violations]
        if done % _PROGRESS_EVERY == 0 or done == seeds:
            report(f"{done} of {seeds}")
    return Figures(Counter({f"crashes in {seeds} seeds": crashes}), acknowledged, violations=tuple(found))


def simulate_tables_many(seeds: int, report: Callable[[str], None], *, first: int = 0) -> Figures:
    """The same for topics with tables, with compactors, sweeps and retention."""
    counts, acknowledged = Counts(), 0
    found: list[str] = []
    verdicts = simulate_seeds(simulate_tables, TableVerdict, range(first, first + seeds), os.cpu_count())
    for done, verdict in enumerate(verdicts, 1):
        counts.add(verdict.counts)
        acknowledged += verdict.acknowledged
        found += [f"seed {verdict.seed}: {line}" for line in verdict.violations]
        if done % _PROGRESS_EVERY == 0 or done == seeds:
            report(f"{done} of {seeds}, {counts}")
    found += [f"{what} never happened in {seeds} seeds" for what in counts.missing]
    return Figures(
        Counter({f"crashes in {seeds} seeds": counts.crashes}), acknowledged, violations=tuple(found)
    )
