"""Simulate many seeds: `python -m dray.testing.sim.tables --seeds 1000 --first 0 --workers 2`."""

import argparse
import logging
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from time import monotonic

from dray.testing.sim.tables.onlooker import Counts
from dray.testing.sim.tables.world import TableVerdict, simulate_tables


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m dray.testing.sim.tables", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many seeds to live through")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes to use")
    parser.add_argument("--history", action="store_true", help="print the history of every seed that fails")
    options = parser.parse_args(arguments)
    began, counts, failed = monotonic(), Counts(), 0
    seeds = range(options.first, options.first + options.seeds)
    with ProcessPoolExecutor(options.workers, initializer=_be_quiet) as pool:
        for verdict in pool.map(try_seed, seeds, chunksize=4):
            counts.add(verdict.counts)
            failed += bool(verdict.violations)
            _tell(verdict, history=options.history)
    print(f"{options.seeds} seeds in {monotonic() - began:.0f} s, {failed} with violations; {counts}")
    return 1 if failed else 0


def try_seed(seed: int) -> TableVerdict:
    """Live through a seed; one that breaks the simulation itself is a violation, and no reason to stop."""
    try:
        return simulate_tables(seed)
    except Exception as error:  # noqa: BLE001 - told as the seed's verdict
        return TableVerdict(seed, (f"broken off: {error!r}",), (), acknowledged=0, steps=0, counts=Counts())


def _be_quiet() -> None:
    """Simulated faults are no news."""
    logging.getLogger("dray").setLevel(logging.CRITICAL)


def _tell(verdict: TableVerdict, *, history: bool) -> None:
    if verdict.violations:
        print(f"seed {verdict.seed}:", *(f"  {line}" for line in verdict.violations), sep="\n", flush=True)
        if history:
            print(*verdict.lines, sep="\n")


if __name__ == "__main__":
    sys.exit(main())
