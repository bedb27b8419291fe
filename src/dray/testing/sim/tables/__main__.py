"""Command that simulates many seeds: `python -m dray.testing.sim.tables --seeds 1000 --workers 2`."""

import argparse
import os
import sys
from time import monotonic

from dray.testing.sim.seeds import simulate_seeds
from dray.testing.sim.tables.invariants import Counts
from dray.testing.sim.tables.world import TableVerdict, simulate_tables


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m dray.testing.sim.tables", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="number of seeds to simulate")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="number of processes")
    parser.add_argument("--history", action="store_true", help="print the history of every seed that fails")
    options = parser.parse_args(arguments)
    started, counts, failed = monotonic(), Counts(), 0
    seeds = range(options.first, options.first + options.seeds)
    for verdict in simulate_seeds(simulate_tables, TableVerdict, seeds, options.workers):
        counts.add(verdict.counts)
        if verdict.violations:
            failed += 1
            print(verdict.report(history=options.history), flush=True)
    print(f"{options.seeds} seeds in {monotonic() - started:.0f} s, {failed} with violations; {counts}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
