"""Run the benchmarks and print their figures, with the machine and the versions.

Each of the in-process ones measures one part of Dray for some seconds. `kafka` starts Dray and Apache
Kafka, gives both the same loads turn by turn, and takes five to ten minutes; `groups` measures consumer
groups on both, in about five. They need Java 17 and Maven, and measure Dray alone without them. `pipeline`
stands for all that has to do with tables: `to-table`, beside Apache Kafka, Spark and Iceberg; `from-parquet`;
`table`; `bulk`. They need Spark as well, and take half an hour. A missed bar is told and is not a failure.

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
    from_parquet,
    groups,
    index_lookup,
    kernels,
    meta_commits,
    to_table,
    wal_encode,
    wire_codec,
)
from benchmarks.beside_kafka import Outcome
from benchmarks.figures import Figure, surroundings
from dray.runtime import LazyModule, set_up_interpreter
from tests.parts import PARTS

if TYPE_CHECKING:
    from benchmarks import bulk_load, table_commits
else:  # Spark's and Iceberg's libraries, which not every machine has
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
KAFKA, GROUPS = "kafka", "groups"
TO_TABLE, FROM_PARQUET, TABLE, BULK = "to-table", "from-parquet", "table", "bulk"
PIPELINE = {"pipeline": [TO_TABLE, FROM_PARQUET, TABLE, BULK]}
_NEED_SPARK = PIPELINE["pipeline"]
_SECONDS = 10.0
_QUICK_SECONDS = 1.0
_QUICK_COMMITS = 100
_QUICK_ROWS = 500_000


@dataclass(frozen=True, slots=True)
class _File:
    """What goes to one file: benchmarks by their names, and how those of them that are asked for are run."""

    name: str
    names: Sequence[str]
    run: Callable[[argparse.Namespace, Sequence[str]], Outcome | Iterable[Figure]]


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    directory = RESULTS if options.save else UNSAVED
    directory.mkdir(parents=True, exist_ok=True)
    top = [f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC", *surroundings(), ""]
    print(*top, sep="\n", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # takes the servers with it
    missed = sum(_run(file, options, top, directory) for file in _files(options.names or NAMES))
    print(f"{missed} figures missed their bar" if missed else "no figure missed its bar")
    print(f"written to {directory}")
    return 0


def _files(names: list[str]) -> Iterator[_File]:
    """What is to be run, by the files that it goes to; in our order, not in that of the names."""
    asked = [one for name in names for one in PIPELINE.get(name, [name])]
    spark = PARTS["spark"]
    without = [] if spark.find() else [name for name in asked if name in _NEED_SPARK]
    if without:
        print(f"left out: {', '.join(without)}: {spark.what} is missing. To have it: {spark.install}")
    for file in FILES:
        if chosen := [name for name in file.names if name in asked and name not in without]:
            yield replace(file, names=chosen)


def _run(file: _File, options: argparse.Namespace, top: list[str], directory: Path) -> int:
    """Print and write what comes of it; returns how many bars were missed."""
    came = file.run(options, file.names)
    if not isinstance(came, Outcome):
        lines, missed = _told(came)
        _write(directory / f"{file.name}.txt", [*top, *lines])
        return missed
    print(*came.lines, sep="\n", flush=True)
    _write(directory / f"{file.name}.txt", [*top, *came.lines])
    for name, plot in came.plots.items():
        (directory / name).write_text(plot)
    return came.missed


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"which: {', '.join([*NAMES, *PIPELINE])} (all)"
    )
    parser.add_argument(
        "--seconds", type=float, help=f"how long each in-process benchmark measures ({_SECONDS:g})"
    )
    parser.add_argument(
        "--repeat", type=int, metavar="N", help=f"rounds of what is compared ({beside_kafka.FULL.rounds})"
    )
    parser.add_argument(
        "--quick", action="store_true", help="little of everything, in a minute; rough figures"
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
        parser.error("--quick gives rough figures; they are not to be kept: leave out --save")
    return options


def _in_process(options: argparse.Namespace, names: Sequence[str]) -> Iterator[Figure]:
    set_up_interpreter()  # as the broker does
    seconds = options.seconds or (_QUICK_SECONDS if options.quick else _SECONDS)
    return (figure for name in names for figure in IN_PROCESS[name](seconds))


def _told(figures: Iterable[Figure]) -> tuple[list[str], int]:
    """Print figures as they come; returns the lines, and how many missed their bar."""
    lines, missed = [], 0
    for figure in figures:
        print(figure.line(), flush=True)
        lines.append(figure.line())
        missed += figure.reached is False
    return lines, missed


def _beside_kafka(options: argparse.Namespace, _: Sequence[str]) -> Outcome:
    scale = beside_kafka.QUICK if options.quick else beside_kafka.FULL
    return beside_kafka.run(replace(scale, rounds=options.repeat or scale.rounds), tell=_tell)


def _groups(options: argparse.Namespace, _: Sequence[str]) -> Iterable[Figure]:
    return groups.run(groups.QUICK if options.quick else groups.FULL, beside_kafka.servers_here())


def _to_table(options: argparse.Namespace, _: Sequence[str]) -> Outcome:
    scale = to_table.QUICK if options.quick else to_table.FULL
    return to_table.run(replace(scale, rounds=options.repeat or scale.rounds), tell=_tell)


def _from_parquet(options: argparse.Namespace, _: Sequence[str]) -> Outcome:
    scale = from_parquet.QUICK if options.quick else from_parquet.FULL
    return from_parquet.run(replace(scale, rounds=options.repeat or scale.rounds), tell=_tell)


def _tables(options: argparse.Namespace, names: Sequence[str]) -> Iterator[Figure]:
    if TABLE in names:
        yield from table_commits.run(commits=_QUICK_COMMITS) if options.quick else table_commits.run()
    if BULK in names:
        yield from bulk_load.run(rows=_QUICK_ROWS) if options.quick else bulk_load.run()


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n")


FILES = (
    _File("log", [*IN_PROCESS], _in_process),
    _File("beside-kafka", [KAFKA], _beside_kafka),
    _File("groups", [GROUPS], _groups),
    _File("to-table", [TO_TABLE], _to_table),
    _File("from-parquet", [FROM_PARQUET], _from_parquet),
    _File("tables", [TABLE, BULK], _tables),
)
NAMES = [name for file in FILES for name in file.names]

if __name__ == "__main__":
    sys.exit(main())
