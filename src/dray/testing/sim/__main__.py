"""Simulate many seeds: `python -m dray.testing.sim --seeds 10000 --first 0 --workers 2`."""

import argparse
import logging
import os
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from time import monotonic

from dray.testing.sim.world import Verdict, simulate


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m dray.testing.sim", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many seeds to live through")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes to use")
    parser.add_argument("--soak", action="store_true", help="go on until stopped, or until a seed fails")
    parser.add_argument("--history", action="store_true", help="print the history of every seed that fails")
    options = parser.parse_args(arguments)
    started, first, failed = monotonic(), options.first, 0
    with ProcessPoolExecutor(options.workers, initializer=_be_quiet) as pool:
        while True:
            seeds = range(first, first + options.seeds)
            failed += report(pool.map(_simulate, seeds, chunksize=4), options.seeds, history=options.history)
            first += options.seeds
            print(f"{first - options.first} seeds in {monotonic() - started:.0f} s, {failed} with violations")
            if failed or not options.soak:
                return 1 if failed else 0


def _simulate(seed: int) -> Verdict:
    """A seed that breaks the simulation itself is a violation too, and no reason to end the run."""
    try:
        return simulate(seed)
    except Exception as error:  # noqa: BLE001 - told as the seed's verdict
        return Verdict(seed, (f"broken off: {error!r}",), (), acknowledged=0, crashes=0, steps=0)


def _be_quiet() -> None:
    """Simulated faults are no news."""
    logging.getLogger("dray").setLevel(logging.CRITICAL)


def report(verdicts: Iterable[Verdict], total: int, *, history: bool) -> int:
    """Print progress and every violation as they come; returns how many seeds failed."""
    failed = acknowledged = crashes = 0
    for done, verdict in enumerate(verdicts, 1):
        acknowledged += verdict.acknowledged
        crashes += verdict.crashes
        if verdict.violations:
            failed += 1
            print(f"seed {verdict.seed}:", *(f"  {line}" for line in verdict.violations), sep="\n")
            if history:
                print(*verdict.lines, sep="\n")
        if done % 100 == 0 or done == total:
            print(f"{done}/{total} seeds, {acknowledged} batches acknowledged, {crashes} crashes", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
