"""Soak test: every check too long for the test suite, run in sequence, with a summary table at the end.

Exits with 1 if any rule was violated, and then keeps the local files of that part for inspection. Arguments
after -- are passed on to `dray up`.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from tests.agreement.ways import WAYS, Way
from tests.chaos import faults, stores
from tests.chaos.cleanup import kill_children_on_exit
from tests.chaos.compaction import deployments
from tests.chaos.compaction import experiment as compaction
from tests.chaos.compaction.points import STATES
from tests.chaos.compaction.victims import Victim
from tests.chaos.experiment import Figures, Plan, run
from tests.chaos.groups import experiment as groups
from tests.chaos.groups.members import Protocol
from tests.chaos.simulation import simulate_many, simulate_tables_many
from tests.chaos.table import Row, lines
from tests.clients.secured_load import rotate_many
from tests.spark_connector.versions import VERSIONS, passes_with

_SHOWN_MAX = 20


@dataclass(frozen=True, slots=True)
class Amounts:
    """Sizes of all parts."""

    seeds: int
    kills: int
    stalls: int
    seed: int
    options: tuple[str, ...]
    rebalances: int = 50
    """Rebalances during which the group's owner broker is killed; half of them for each protocol."""
    faults: int = 20
    """Faults injected in each state of a compaction job."""
    cluster_minutes: float = 30
    """Length of the schedule of faults of a whole cluster."""
    rotations: int = 500
    """Certificates that replace each other while clients write."""


Part = Callable[[Amounts, Path, Callable[[str], None]], Figures]


def _simulation(amounts: Amounts, _: Path, report: Callable[[str], None]) -> Figures:
    return simulate_many(amounts.seeds, report)


def _simulation_of_tables(amounts: Amounts, _: Path, report: Callable[[str], None]) -> Figures:
    """Each of these seeds takes as long as ten seeds of `sim`."""
    return simulate_tables_many(max(1, amounts.seeds // 10), report)


@dataclass(frozen=True, slots=True)
class _BrokerFaults:
    """A part that kills or stalls real brokers."""

    store: stores.Store
    fault: faults.Fault
    brokers: int

    def __call__(self, amounts: Amounts, home: Path, report: Callable[[str], None]) -> Figures:
        times = amounts.kills if self.fault is faults.kill else amounts.stalls
        with self.store(home) as options:
            plan = Plan(self.fault, times, self.brokers, (*options, *amounts.options), amounts.seed)
            return run(plan, home / "data", report)


@dataclass(frozen=True, slots=True)
class _Rebalances:
    """A part that kills the broker that owns a group."""

    protocol: Protocol

    def __call__(self, amounts: Amounts, home: Path, report: Callable[[str], None]) -> Figures:
        plan = groups.Plan(self.protocol, amounts.rebalances // 2, amounts.options, amounts.seed)
        return groups.run(plan, home / "data", report)


@dataclass(frozen=True, slots=True)
class _Compaction:
    """A part that injects faults into one of the processes that take part in compaction."""

    victim: Victim
    deploy: deployments.Deploy

    def __call__(self, amounts: Amounts, home: Path, report: Callable[[str], None]) -> Figures:
        phases = [compaction.Phase(self.victim, state, amounts.faults) for state in STATES]
        plan = compaction.Plan(phases, self.deploy, amounts.seed)
        return compaction.run(plan, home / "data", report)


@dataclass(frozen=True, slots=True)
class _Agreement:
    """A part that compares readers over the full number of records."""

    way: Way

    def __call__(self, _: Amounts, home: Path, report: Callable[[str], None]) -> Figures:
        self.way.agree(home, self.way.records, report)
        return Figures(acknowledged=self.way.records)


@dataclass(frozen=True, slots=True)
class _OtherSpark:
    """A part that runs the Spark connector tests with another version of Spark."""

    version: str

    def __call__(self, _: Amounts, home: Path, report: Callable[[str], None]) -> Figures:
        return Figures(violations=passes_with(self.version, home, report))


def _cluster(
    amounts: Amounts, home: Path, report: Callable[[str], None], *more: str, share: float = 1.0
) -> Figures:
    """Run `make chaos` for a share of the time; its report is kept."""
    figures = home / "figures.json"
    options = [
        "--seed",
        str(amounts.seed),
        "--minutes",
        str(amounts.cluster_minutes * share),
        "--figures",
        str(figures),
        *more,
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.chaos.cluster", *options], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            report(line.strip())
    found = json.loads(figures.read_text())
    return Figures(**{**found, "faults": Counter(found["faults"]), "violations": tuple(found["violations"])})


def _cluster_with_tls(amounts: Amounts, home: Path, report: Callable[[str], None]) -> Figures:
    """Run `make chaos` with encrypted and authenticated clients."""
    return _cluster(amounts, home, report, "--tls", share=1 / 3)


def _certificates(amounts: Amounts, home: Path, report: Callable[[str], None]) -> Figures:
    return Figures(acknowledged=rotate_many(home, amounts.rotations, report))


PARTS: Mapping[str, Part] = {
    "sim": _simulation,
    "sim-tables": _simulation_of_tables,
    "cluster": _cluster,
    "cluster-tls": _cluster_with_tls,
    "certificates": _certificates,
    "local-1": _BrokerFaults(stores.local_directory, faults.kill, 1),
    "local-2": _BrokerFaults(stores.local_directory, faults.kill, 2),
    "s3-1": _BrokerFaults(stores.real_s3, faults.kill, 1),
    "s3-2": _BrokerFaults(stores.real_s3, faults.kill, 2),
    "stall-local": _BrokerFaults(stores.local_directory, faults.stall, 2),
    "stall-s3": _BrokerFaults(stores.real_s3, faults.stall, 2),
    "groups-classic": _Rebalances("classic"),
    "groups-consumer": _Rebalances("consumer"),
    "compaction-compactor": _Compaction("compactor", deployments.embedded),
    "compaction-worker": _Compaction("worker", deployments.embedded),
    "compaction-broker": _Compaction("broker", deployments.embedded),
    "compaction-catalog": _Compaction("catalog", deployments.rest),
    "compaction-second": _Compaction("second", deployments.embedded),
    "compaction-s3-compactor": _Compaction("compactor", deployments.s3),
    "compaction-s3-worker": _Compaction("worker", deployments.s3),
    "compaction-s3-broker": _Compaction("broker", deployments.s3),
    "compaction-s3-catalog": _Compaction("catalog", deployments.s3),
    "compaction-s3-second": _Compaction("second", deployments.s3),
    **{f"agreement-{name}": _Agreement(way) for name, way in WAYS.items()},
    **{f"spark-{version}": _OtherSpark(version) for version in VERSIONS},
}
"""The number is the number of brokers; stalls need two. With S3, tables are in Apache's REST catalog."""


def soak(parts: Mapping[str, Part], amounts: Amounts) -> int:
    """Run the parts one after the other and return the exit code."""
    rows = []
    for name, part in parts.items():
        row = _run(name, part, amounts)
        for line in row.violations[:_SHOWN_MAX]:
            click.echo(f"  {line}")
        rows.append(row)
    click.echo("\n".join(["", *lines(rows)]))
    return 1 if any(row.violations for row in rows) else 0


def _run(name: str, part: Part, amounts: Amounts) -> Row:
    started = time.monotonic()

    def report(progress: str) -> None:
        click.echo(f"{name}: {progress}, {time.monotonic() - started:.0f} s")

    home = Path(tempfile.mkdtemp(prefix=f"dray-soak-{name}-"))
    try:
        figures = part(amounts, home, report)
    except (AssertionError, OSError, RuntimeError, subprocess.SubprocessError) as error:  # failed to start
        figures = Figures.aborted(error)
    if figures.violations:
        click.echo(f"{name}: {len(figures.violations)} violations; local files are kept in {home}")
    else:
        shutil.rmtree(home)
    return Row(name, figures, time.monotonic() - started)


@click.command(context_settings={"help_option_names": ["-h", "--help"]}, help=__doc__)
@click.option("--only", "names", multiple=True, type=click.Choice(list(PARTS)), help="Run only this part.")
@click.option("--seeds", default=10_000, show_default=True, help="Seeds to simulate.")
@click.option("--kills", default=100, show_default=True, help="Kills in each part that kills brokers.")
@click.option("--stalls", default=30, show_default=True, help="Stalls in each part that stalls brokers.")
@click.option("--rebalances", default=50, show_default=True, help="Rebalances with a killed broker.")
@click.option(
    "--faults", "fault_count", default=20, show_default=True, help="Faults in each state of a compaction job."
)
@click.option(
    "--cluster-minutes", default=30.0, show_default=True, help="Minutes of faults in a whole cluster."
)
@click.option("--rotations", default=500, show_default=True, help="Certificates replaced under load.")
@click.option("--seed", default=1, show_default=True, help="Seed of the random choices.")
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def main(
    *,
    names: tuple[str, ...],
    seeds: int,
    kills: int,
    stalls: int,
    rebalances: int,
    fault_count: int,
    cluster_minutes: float,
    rotations: int,
    seed: int,
    options: tuple[str, ...],
) -> None:
    chosen = {name: part for name, part in PARTS.items() if not names or name in names}
    amounts = Amounts(
        seeds, kills, stalls, seed, options, rebalances, fault_count, cluster_minutes, rotations
    )
    sys.exit(soak(chosen, amounts))


if __name__ == "__main__":
    kill_children_on_exit()
    main()
