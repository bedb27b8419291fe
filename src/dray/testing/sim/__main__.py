"""Command that simulates many seeds: `python -m dray.testing.sim log --seeds 10000 --first 0 --workers 2`.

A quarter of the seeds has a networked metadata store; `--network` gives it to all, `--no-network` to none.
"""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import partial
from time import monotonic
from typing import Any, Final

from dray.testing.group_sim import simulate as simulate_groups
from dray.testing.sim.seeds import Verdict, simulate_seeds
from dray.testing.sim.tables import TableVerdict, simulate_tables
from dray.testing.sim.world import simulate

SIMULATIONS: Final[dict[str, tuple[Callable[..., Any], type[Verdict]]]] = {
    "log": (simulate, Verdict),
    "groups": (simulate_groups, Verdict),
    "tables": (simulate_tables, TableVerdict),
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m dray.testing.sim", description="Simulate many seeds, and print those with violations."
    )
    parser.add_argument("what", nargs="?", choices=SIMULATIONS, default="log", help="what to simulate")
    parser.add_argument("--seeds", type=int, default=200, help="number of seeds to simulate")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="number of processes")
    parser.add_argument(
        "--network",
        action=argparse.BooleanOptionalAction,
        help="simulate a networked metadata store: slow, partitioned, without a leader, with late watches; "
        "by default every fourth seed has one",
    )
    parser.add_argument("--soak", action="store_true", help="repeat with new seeds until one fails")
    parser.add_argument("--history", action="store_true", help="print the history of every seed that fails")
    options = parser.parse_args(arguments)
    simulate_seed, verdict = SIMULATIONS[options.what]
    run = partial(simulate_seed, networked=options.network)
    started, first, failed = monotonic(), options.first, 0
    while True:
        seeds = range(first, first + options.seeds)
        verdicts = simulate_seeds(run, verdict, seeds, options.workers)
        failed += report(verdicts, options.seeds, history=options.history)
        first += options.seeds
        print(f"{first - options.first} seeds in {monotonic() - started:.0f} s, {failed} with violations")
        if failed or not options.soak:
            return 1 if failed else 0


def report(verdicts: Iterable[Verdict], total: int, *, history: bool) -> int:
    """Print progress and violations as the verdicts arrive; return the number of failed seeds."""
    failed, events = 0, Counter[str]()
    for done, verdict in enumerate(verdicts, 1):
        events.update(_events(verdict))
        if verdict.violations:
            failed += 1
            print(verdict.report(history=history), flush=True)
        if done % 100 == 0 or done == total:
            counted = ", ".join(f"{name} {count}" for name, count in events.items())
            print(f"{done}/{total} seeds; {counted}", flush=True)
    return failed


def _events(verdict: Verdict) -> dict[str, int]:
    if isinstance(verdict, TableVerdict):
        return {"acknowledged": verdict.acknowledged, **asdict(verdict.counts)}
    return {"acknowledged": verdict.acknowledged, "crashes": verdict.crashes}


if __name__ == "__main__":
    sys.exit(main())
