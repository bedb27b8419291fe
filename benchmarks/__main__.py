"""Run the benchmarks and print their figures, with the machine and the versions.

Each of the in-process ones measures one part of Dray for some seconds. `kafka` starts Dray and Apache
Kafka, gives both the same loads turn by turn, and takes five to ten minutes; `groups` measures consumer
groups on both, in about five. They need Java 17 and Maven, and measure Dray alone without them. A missed bar
is told and is not a failure.

Text and plots are also written to a directory that git ignores, or with --save to benchmarks/results/.
"""

import argparse
import signal
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import (
    append,
    beside_kafka,
    groups,
    index_lookup,
    kernels,
    meta_commits,
    wal_encode,
    wire_codec,
)
from benchmarks.figures import Figure, surroundings
from dray.runtime import set_up_interpreter

_HERE = Path(__file__).parent
RESULTS = _HERE / "results"
UNSAVED = _HERE.parent / ".cache" / "bench"
IN_PROCESS: dict[str, Callable[[float], list[Figure]]] = {
    "append": lambda seconds: append.run(seconds=seconds),
    "commits": lambda seconds: meta_commits.run(seconds=seconds),
    "index": lambda seconds: index_lookup.run(seconds=seconds),
    "kernels": lambda seconds: kernels.run(seconds=seconds),
    "wal": lambda seconds: wal_encode.run(seconds=seconds),
    "wire": lambda seconds: wire_codec.run(seconds=seconds),
}
KAFKA, GROUPS = "kafka", "groups"
NAMES = [*IN_PROCESS, KAFKA, GROUPS]
_SECONDS = 10.0
_QUICK_SECONDS = 1.0


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    names = options.names or NAMES
    directory = RESULTS if options.save else UNSAVED
    directory.mkdir(parents=True, exist_ok=True)
    top = [f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC", *surroundings(), ""]
    print(*top, sep="\n", flush=True)
    missed = 0
    if inside := [name for name in names if name in IN_PROCESS]:
        seconds = options.seconds or (_QUICK_SECONDS if options.quick else _SECONDS)
        lines, missed = _run_in_process(inside, seconds)
        _write(directory / "log.txt", [*top, *lines])
    if KAFKA in names:
        missed += _run_beside_kafka(options, top, directory)
    if GROUPS in names:
        scale = groups.QUICK if options.quick else groups.FULL
        lines, more = _told(groups.run(scale, beside_kafka.servers_here()))
        _write(directory / "groups.txt", [*top, *lines])
        missed += more
    print(f"{missed} figures missed their bar" if missed else "no figure missed its bar")
    print(f"written to {directory}")
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(NAMES)} (all)")
    parser.add_argument(
        "--seconds", type=float, help=f"how long each in-process benchmark measures ({_SECONDS:g})"
    )
    parser.add_argument(
        "--repeat", type=int, metavar="N", help=f"rounds beside Kafka ({beside_kafka.FULL.rounds})"
    )
    parser.add_argument(
        "--quick", action="store_true", help="little of everything, in a minute; rough figures"
    )
    parser.add_argument(
        "--save", action="store_true", help=f"write to benchmarks/{RESULTS.name}/, kept in git"
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]}; there are {', '.join(NAMES)}")
    if options.repeat is not None and options.repeat < 1:
        parser.error(f"--repeat must be at least 1, not {options.repeat}")
    if options.quick and options.save:
        parser.error("--quick gives rough figures; they are not to be kept: leave out --save")
    return options


def _run_in_process(names: list[str], seconds: float) -> tuple[list[str], int]:
    set_up_interpreter()  # as the broker does
    return _told(figure for name in names for figure in IN_PROCESS[name](seconds))


def _told(figures: Iterable[Figure]) -> tuple[list[str], int]:
    """Print figures as they come; returns the lines, and how many missed their bar."""
    lines, missed = [], 0
    for figure in figures:
        print(figure.line(), flush=True)
        lines.append(figure.line())
        missed += figure.reached is False
    return lines, missed


def _run_beside_kafka(options: argparse.Namespace, top: list[str], directory: Path) -> int:
    scale = beside_kafka.QUICK if options.quick else beside_kafka.FULL
    if options.repeat is not None:
        scale = replace(scale, rounds=options.repeat)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # takes the servers with it
    outcome = beside_kafka.run(scale, tell=lambda line: print(line, file=sys.stderr, flush=True))
    print(*outcome.lines, sep="\n")
    _write(directory / "beside-kafka.txt", [*top, *outcome.lines])
    for name, plot in outcome.plots.items():
        (directory / name).write_text(plot)
    return outcome.missed


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
