"""Benchmark command: runs the named benchmarks and prints their figures, with the machine and the versions.

In-process benchmarks measure one part of Dray for some seconds each. `kafka` starts Dray and Apache
Kafka, runs the same loads on both, alternating, and takes five to ten minutes; `tls` does so over TLS, in
about three; `groups` measures consumer groups on both, in about five. They need Java 17 and Maven, and
measure Dray alone without them. `growth` compares 10 and 10,000 partitions on each metadata store, in about
ten; it builds etcd with Go. `capacity` simulates brokers on S3 and computes costs (docs/guide/capacity.md),
in about five. `pipeline` stands for all table benchmarks: `to-table`, side by side with Apache Kafka, Spark
and Iceberg; `from-parquet`; `table`; `bulk`. They need Spark as well, and take half an hour. A missed bar is
reported, and is not a failure.

Text and plots are also written to a directory that git ignores, or with --save to benchmarks/results/.
"""

import argparse
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import (
    append,
    beside_kafka,
    capacity,
    from_parquet,
    groups,
    growth,
    index_lookup,
    kernels,
    meta_commits,
    to_table,
    wal_encode,
    wire_codec,
)
from benchmarks.beside_kafka import Outcome
from benchmarks.figures import Figure, environment
from dray.runtime import LazyModule, tune_interpreter
from tests.parts import PARTS

if TYPE_CHECKING:
    from benchmarks import bulk_load, table_commits
else:  # the libraries of Spark and Iceberg, which may not be installed
    bulk_load = LazyModule("benchmarks.bulk_load")
    table_commits = LazyModule("benchmarks.table_commits")

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
KAFKA, TLS, GROUPS, GROWTH, CAPACITY = "kafka", "tls", "groups", "growth", "capacity"
TO_TABLE, FROM_PARQUET, TABLE, BULK = "to-table", "from-parquet", "table", "bulk"
PIPELINE = {"pipeline": [TO_TABLE, FROM_PARQUET, TABLE, BULK]}
_NEED_SPARK = PIPELINE["pipeline"]
_SECONDS = 10.0
_QUICK_SECONDS = 1.0
_QUICK_COMMITS = 100
_QUICK_ROWS = 500_000


@dataclass(frozen=True, slots=True)
class _File:
    """One result file: the benchmarks that write to it, and how the requested ones are run."""

    name: str
    names: Sequence[str]
    run: Callable[[argparse.Namespace, Sequence[str]], Outcome | Iterable[Figure]]


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    directory = RESULTS if options.save else UNSAVED
    directory.mkdir(parents=True, exist_ok=True)
    top = [f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC", *environment(), ""]
    print(*top, sep="\n", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # takes the servers with it
    missed = sum(_run(file, options, top, directory) for file in _files(options.names or NAMES))
    print(f"{missed} figures missed their bar" if missed else "no figure missed its bar")
    print(f"written to {directory}")
    return 0


def _files(names: list[str]) -> Iterator[_File]:
    """Return what to run, by result file, in a fixed order."""
    requested = [one for name in names for one in PIPELINE.get(name, [name])]
    spark = PARTS["spark"]
    without = [] if spark.find() else [name for name in requested if name in _NEED_SPARK]
    if without:
        print(f"left out: {', '.join(without)}: {spark.what} is missing. To have it: {spark.install}")
    for file in FILES:
        if chosen := [name for name in file.names if name in requested and name not in without]:
            yield replace(file, names=chosen)


def _run(file: _File, options: argparse.Namespace, top: list[str], directory: Path) -> int:
    """Print and write the figures; returns how many bars were missed."""
    outcome = file.run(options, file.names)
    if not isinstance(outcome, Outcome):
        lines, missed = _print_figures(outcome)
        _write(directory / f"{file.name}.txt", [*top, *lines])
        return missed
    print(*outcome.lines, sep="\n", flush=True)
    _write(directory / f"{file.name}.txt", [*top, *outcome.lines])
    for name, plot in outcome.plots.items():
        (directory / name).write_text(plot)
    return outcome.missed


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"benchmarks to run: {', '.join([*NAMES, *PIPELINE])} (all)"
    )
    parser.add_argument("--seconds", type=float, help=f"seconds per in-process benchmark ({_SECONDS:g})")
    parser.add_argument(
        "--repeat", type=int, metavar="N", help=f"rounds of a comparison ({beside_kafka.FULL.rounds})"
    )
    parser.add_argument(
        "--quick", action="store_true", help="a small run of everything, in a minute; rough figures"
    )
    parser.add_argument(
        "--save", action="store_true", help=f"write to benchmarks/{RESULTS.name}/, kept in git"
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in [*NAMES, *PIPELINE]]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]}; there are {', '.join([*NAMES, *PIPELINE])}")
    if options.repeat is not None and options.repeat < 1:
        parser.error(f"--repeat must be at least 1, not {options.repeat}")
    if options.quick and options.save:
        parser.error("--quick gives rough figures; do not keep them: leave out --save")
    return options


def _in_process(options: argparse.Namespace, names: Sequence[str]) -> Iterator[Figure]:
    tune_interpreter()  # as the broker does
    seconds = options.seconds or (_QUICK_SECONDS if options.quick else _SECONDS)
    return (figure for name in names for figure in IN_PROCESS[name](seconds))


def _print_figures(figures: Iterable[Figure]) -> tuple[list[str], int]:
    """Print figures as they come; returns the lines, and how many missed their bar."""
    lines, missed = [], 0
    for figure in figures:
        print(figure.line(), flush=True)
        lines.append(figure.line())
        missed += figure.reached is False
    return lines, missed


def _beside_kafka(options: argparse.Namespace, _: Sequence[str]) -> Outcome:
    scale = beside_kafka.QUICK if options.quick else beside_kafka.FULL
    return beside_kafka.run(replace(scale, rounds=options.repeat or scale.rounds), progress=_progress)


def _over_tls(options: argparse.Namespace, _: Sequence[str]) -> Outcome:
    scale = beside_kafka.QUICK if options.quick else beside_kafka.FULL
    return beside_kafka.run_over_tls(
        replace(scale, rounds=options.repeat or scale.rounds), progress=_progress
    )


def _groups(options: argparse.Namespace, _: Sequence[str]) -> Iterable[Figure]:
    return groups.run(groups.QUICK if options.quick else groups.FULL, beside_kafka.servers_here())


def _growth(options: argparse.Namespace, _: Sequence[str]) -> Outcome:
    scale = growth.QUICK if options.quick else growth.FULL
    return growth.run(replace(scale, rounds=options.repeat or scale.rounds), progress=_progress)


def _capacity(options: argparse.Namespace, _: Sequence[str]) -> Outcome:
    return capacity.run(capacity.QUICK if options.quick else capacity.FULL, progress=_progress)


def _to_table(options: argparse.Namespace, _: Sequence[str]) -> Outcome:
    scale = to_table.QUICK if options.quick else to_table.FULL
    return to_table.run(replace(scale, rounds=options.repeat or scale.rounds), progress=_progress)


def _from_parquet(options: argparse.Namespace, _: Sequence[str]) -> Outcome:
    scale = from_parquet.QUICK if options.quick else from_parquet.FULL
    return from_parquet.run(replace(scale, rounds=options.repeat or scale.rounds), progress=_progress)


def _tables(options: argparse.Namespace, names: Sequence[str]) -> Iterator[Figure]:
    if TABLE in names:
        yield from table_commits.run(commits=_QUICK_COMMITS) if options.quick else table_commits.run()
    if BULK in names:
        yield from bulk_load.run(rows=_QUICK_ROWS) if options.quick else bulk_load.run()


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n")


FILES = (
    _File("log", [*IN_PROCESS], _in_process),
    _File("beside-kafka", [KAFKA], _beside_kafka),
    _File("over-tls", [TLS], _over_tls),
    _File("groups", [GROUPS], _groups),
    _File("growth", [GROWTH], _growth),
    _File("capacity", [CAPACITY], _capacity),
    _File("to-table", [TO_TABLE], _to_table),
    _File("from-parquet", [FROM_PARQUET], _from_parquet),
    _File("tables", [TABLE, BULK], _tables),
)
NAMES = [name for file in FILES for name in file.names]

if __name__ == "__main__":
    sys.exit(main())
