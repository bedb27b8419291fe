"""Run the benchmarks and print their figures: `python -m benchmarks [NAME …] [--seconds N] [--save]`."""

import argparse
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import append, index_lookup, meta_commits, wal_encode, wire_codec
from benchmarks.figures import Figure, surroundings
from dray.runtime import set_up_interpreter

_RESULTS = Path(__file__).parent / "results"
BENCHMARKS: dict[str, Callable[[float], list[Figure]]] = {
    "append": lambda seconds: append.run(seconds=seconds),
    "commits": lambda seconds: meta_commits.run(seconds=seconds),
    "index": lambda seconds: index_lookup.run(seconds=seconds),
    "wal": lambda seconds: wal_encode.run(seconds=seconds),
    "wire": lambda seconds: wire_codec.run(seconds=seconds),
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(BENCHMARKS)} (all)")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each measures (10)")
    parser.add_argument("--save", action="store_true", help="also write the figures to benchmarks/results/")
    options = parser.parse_args(arguments)
    set_up_interpreter()  # as the broker does
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]}; there are {', '.join(BENCHMARKS)}")
    lines = [f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC", *surroundings(), ""]
    print(*lines, sep="\n")
    missed = 0
    for name in options.names or BENCHMARKS:
        for figure in BENCHMARKS[name](options.seconds):
            print(figure.line(), flush=True)
            lines.append(figure.line())
            missed += figure.reached is False
    if options.save:
        _RESULTS.mkdir(exist_ok=True)
        (_RESULTS / "log.txt").write_text("\n".join(lines) + "\n")
    if missed:
        print(f"{missed} figures missed their bar")
    return 0


if __name__ == "__main__":
    sys.exit(main())
