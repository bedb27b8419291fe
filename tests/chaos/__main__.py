"""The soak: everything that is too long for the tests, in order, with a table of figures at the end.

Exits with 1 if anything was wrong; what was kept on this machine is then left for a look. Arguments behind --
are options of `dray up`.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from tests.agreement.ways import WAYS, Way
from tests.chaos import faults, stores
from tests.chaos.compaction import grounds
from tests.chaos.compaction import ordeal as compaction
from tests.chaos.compaction.points import STATES
from tests.chaos.compaction.victims import Victim
from tests.chaos.ending import end_with_children
from tests.chaos.groups import ordeal as groups
from tests.chaos.groups.members import Protocol
from tests.chaos.ordeal import Figures, Plan, undergo
from tests.chaos.simulation import simulate_many, simulate_tables_many
from tests.chaos.table import Row, lines
from tests.spark.versions import VERSIONS, passes_with

_SHOWN_MAX = 20


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much of everything."""

    seeds: int
    kills: int
    stalls: int
    seed: int
    options: tuple[str, ...]
    rebalances: int = 50
    """In how many of them a group's caretaker is killed; half of them for each protocol."""
    blows: int = 20
    """How often somebody is struck in each state of a compaction."""


Part = Callable[[Amounts, Path, Callable[[str], None]], Figures]


def _simulation(amounts: Amounts, _: Path, say: Callable[[str], None]) -> Figures:
    return simulate_many(amounts.seeds, say)


def _simulation_of_tables(amounts: Amounts, _: Path, say: Callable[[str], None]) -> Figures:
    """Each of these seeds takes as long as ten of the others."""
    return simulate_tables_many(max(1, amounts.seeds // 10), say)


@dataclass(frozen=True, slots=True)
class _Ordeal:
    """A part that breaks real brokers."""

    store: stores.Store
    fault: faults.Fault
    brokers: int

    def __call__(self, amounts: Amounts, home: Path, say: Callable[[str], None]) -> Figures:
        times = amounts.kills if self.fault is faults.kill else amounts.stalls
        with self.store(home) as options:
            plan = Plan(self.fault, times, self.brokers, (*options, *amounts.options), amounts.seed)
            return undergo(plan, home / "data", say)


@dataclass(frozen=True, slots=True)
class _Rebalances:
    """A part that kills the caretaker of a group."""

    protocol: Protocol

    def __call__(self, amounts: Amounts, home: Path, say: Callable[[str], None]) -> Figures:
        plan = groups.Plan(self.protocol, amounts.rebalances // 2, amounts.options, amounts.seed)
        return groups.undergo(plan, home / "data", say)


@dataclass(frozen=True, slots=True)
class _Compaction:
    """A part that strikes one of those who take part in compaction."""

    victim: Victim
    lay: grounds.Lay

    def __call__(self, amounts: Amounts, home: Path, say: Callable[[str], None]) -> Figures:
        legs = [compaction.Leg(self.victim, state, amounts.blows) for state in STATES]
        plan = compaction.Plan(legs, self.lay, amounts.seed)
        return compaction.undergo(plan, home / "data", say)


@dataclass(frozen=True, slots=True)
class _Agreement:
    """A part that compares readers at the full count."""

    way: Way

    def __call__(self, _: Amounts, home: Path, say: Callable[[str], None]) -> Figures:
        self.way.agree(home, self.way.records, say)
        return Figures(acknowledged=self.way.records)


@dataclass(frozen=True, slots=True)
class _OtherSpark:
    """A part that runs the tests of Spark with another version of it."""

    version: str

    def __call__(self, _: Amounts, home: Path, say: Callable[[str], None]) -> Figures:
        return Figures(wrong=passes_with(self.version, home, say))


PARTS: Mapping[str, Part] = {
    "sim": _simulation,
    "sim-tables": _simulation_of_tables,
    "local-1": _Ordeal(stores.local_directory, faults.kill, 1),
    "local-2": _Ordeal(stores.local_directory, faults.kill, 2),
    "s3-1": _Ordeal(stores.real_s3, faults.kill, 1),
    "s3-2": _Ordeal(stores.real_s3, faults.kill, 2),
    "stall-local": _Ordeal(stores.local_directory, faults.stall, 2),
    "stall-s3": _Ordeal(stores.real_s3, faults.stall, 2),
    "groups-classic": _Rebalances("classic"),
    "groups-consumer": _Rebalances("consumer"),
    "compaction-compactor": _Compaction("compactor", grounds.embedded),
    "compaction-worker": _Compaction("worker", grounds.embedded),
    "compaction-broker": _Compaction("broker", grounds.embedded),
    "compaction-catalogue": _Compaction("catalogue", grounds.rest),
    "compaction-second": _Compaction("second", grounds.embedded),
    "compaction-s3-compactor": _Compaction("compactor", grounds.served),
    "compaction-s3-worker": _Compaction("worker", grounds.served),
    "compaction-s3-broker": _Compaction("broker", grounds.served),
    "compaction-s3-catalogue": _Compaction("catalogue", grounds.served),
    "compaction-s3-second": _Compaction("second", grounds.served),
    **{f"agreement-{name}": _Agreement(way) for name, way in WAYS.items()},
    **{f"spark-{version}": _OtherSpark(version) for version in VERSIONS},
}
"""The number is that of the brokers; stalls need two. With S3, tables are at Apache's REST catalogue."""


def soak(parts: Mapping[str, Part], amounts: Amounts) -> int:
    """Run the parts one after the other; returns the exit code."""
    rows = []
    for name, part in parts.items():
        row = _run(name, part, amounts)
        for line in row.wrong[:_SHOWN_MAX]:
            click.echo(f"  {line}")
        rows.append(row)
    click.echo("\n".join(["", *lines(rows)]))
    return 1 if any(row.wrong for row in rows) else 0


def _run(name: str, part: Part, amounts: Amounts) -> Row:
    started = time.monotonic()

    def say(what: str) -> None:
        click.echo(f"{name}: {what}, {time.monotonic() - started:.0f} s")

    home = Path(tempfile.mkdtemp(prefix=f"dray-soak-{name}-"))
    try:
        figures = part(amounts, home, say)
    except (AssertionError, OSError, RuntimeError, subprocess.SubprocessError) as error:  # what did not start
        figures = Figures.broken_off(error)
    if figures.wrong:
        click.echo(f"{name}: {len(figures.wrong)} violations; what was local is in {home}")
    else:
        shutil.rmtree(home)
    return Row(name, figures, time.monotonic() - started)


@click.command(context_settings={"help_option_names": ["-h", "--help"]}, help=__doc__)
@click.option("--only", "names", multiple=True, type=click.Choice(list(PARTS)), help="Run just this part.")
@click.option("--seeds", default=10_000, show_default=True, help="Seeds to simulate.")
@click.option("--kills", default=100, show_default=True, help="Kills in each part that kills.")
@click.option("--stalls", default=30, show_default=True, help="Stalls in each part that stalls.")
@click.option("--rebalances", default=50, show_default=True, help="Rebalances in which a broker is killed.")
@click.option("--blows", default=20, show_default=True, help="Kills in each state of a compaction.")
@click.option("--seed", default=1, show_default=True, help="Decides who is struck when, and where.")
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def main(
    *,
    names: tuple[str, ...],
    seeds: int,
    kills: int,
    stalls: int,
    rebalances: int,
    blows: int,
    seed: int,
    options: tuple[str, ...],
) -> None:
    chosen = {name: part for name, part in PARTS.items() if not names or name in names}
    sys.exit(soak(chosen, Amounts(seeds, kills, stalls, seed, options, rebalances, blows)))


if __name__ == "__main__":
    end_with_children()
    main()
