"""Command that simulates many seeds: `python -m dray.testing.sim --seeds 10000 --first 0 --workers 2`."""

import argparse
import os
import sys
from collections.abc import Iterable
from time import monotonic

from dray.testing.sim.seeds import Verdict, simulate_seeds
from dray.testing.sim.world import simulate


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m dray.testing.sim", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="number of seeds to simulate")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="number of processes")
    parser.add_argument("--soak", action="store_true", help="repeat with new seeds until one fails")
    parser.add_argument("--history", action="store_true", help="print the history of every seed that fails")
    options = parser.parse_args(arguments)
    started, first, failed = monotonic(), options.first, 0
    while True:
        seeds = range(first, first + options.seeds)
        verdicts = simulate_seeds(simulate, Verdict, seeds, options.workers)
        failed += report(verdicts, options.seeds, history=options.history)
        first += options.seeds
        print(f"{first - options.first} seeds in {monotonic() - started:.0f} s, {failed} with violations")
        if failed or not options.soak:
            return 1 if failed else 0


def report(verdicts: Iterable[Verdict], total: int, *, history: bool) -> int:
    """Print progress and violations as the verdicts arrive; return the number of failed seeds."""
    failed = acknowledged = crashes = 0
    for done, verdict in enumerate(verdicts, 1):
        acknowledged += verdict.acknowledged
        crashes += verdict.crashes
        if verdict.violations:
            failed += 1
            print(verdict.report(history=history), flush=True)
        if done % 100 == 0 or done == total:
            print(f"{done}/{total} seeds, {acknowledged} batches acknowledged, {crashes} crashes", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
