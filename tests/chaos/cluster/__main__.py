"""Chaos test of a whole cluster: brokers in two zones, three etcd members (or Oxia, or SQLite) and an object
store, each on a machine of its own (a network namespace), with producers and consumer groups, while faults
are injected.

A seed stands for one schedule of faults. Exits with 1 if any rule was violated; the report is written in any
case.
"""

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import click

from tests.chaos.broken import BUGS
from tests.chaos.cleanup import kill_children_on_exit
from tests.chaos.cluster import clock, isolation
from tests.chaos.cluster import report as reports
from tests.chaos.cluster.experiment import Plan, run
from tests.chaos.cluster.metadata import Kind
from tests.chaos.cluster.schedule import ALL_NAMES, kinds_with, schedule
from tests.meta.etcd_program import etcd_program
from tests.oracle.cache import CACHE
from tests.parts import PARTS

_SHOWN_MAX = 20


@click.command(context_settings={"help_option_names": ["-h", "--help"]}, help=__doc__)
@click.option("--seed", default=1, show_default=True, help="Seed of the schedule.")
@click.option("--minutes", default=5.0, show_default=True, help="Length of the schedule.")
@click.option("--pause-ms", default=10.0, show_default=True, help="A producer's pause between records.")
@click.option("--patience", default=1.0, show_default=True, help="Factor of all bounds, for a slow machine.")
@click.option(
    "--report",
    "page",
    type=click.Path(path_type=Path),
    help="File of the report.  [default: .cache/chaos/seed-SEED.html]",
)
@click.option("--figures", type=click.Path(path_type=Path), help="File for figures and violations as JSON.")
@click.option("--compactor/--no-compactor", "compacting", default=True, help="Compact, and check the tables.")
@click.option(
    "--only",
    "names",
    multiple=True,
    type=click.Choice(ALL_NAMES),
    help="Only faults of this kind.",
)
@click.option(
    "--metadata",
    type=click.Choice(["etcd", "oxia", "sqlite"]),
    default="etcd",
    show_default=True,
    help="Metadata store.",
)
@click.option("--tls", is_flag=True, help="Listeners are SASL_SSL, and brokers check ACLs.")
@click.option("--no-faults", "faultless", is_flag=True, help="No faults at all, to compare with.")
@click.option("--bug", type=click.Choice(list(BUGS)), default=None, help="Give brokers a bug to be found.")
@click.option("--keep", is_flag=True, help="Keep logs and journals even if no rule was violated.")
@click.option("--schedule", "schedule_only", is_flag=True, help="Print the schedule and exit.")
def main(
    *,
    seed: int,
    minutes: float,
    pause_ms: float,
    patience: float,
    page: Path | None,
    figures: Path | None,
    compacting: bool,
    names: tuple[str, ...],
    metadata: Kind,
    tls: bool,
    faultless: bool,
    bug: str | None,
    keep: bool,
    schedule_only: bool,
) -> None:
    possible = kinds_with(metadata, compacting=compacting)
    if impossible := sorted(set(names) - set(possible)):
        raise click.UsageError(f"this cluster cannot have these faults: {', '.join(impossible)}")
    kinds = () if faultless else names or possible
    pause_s = pause_ms / 1000
    plan = Plan(seed, minutes * 60, kinds, compacting, pause_s, patience, metadata, bug or "", tls)
    if schedule_only:
        for fault in schedule(plan.seed, plan.seconds, plan.kinds):
            click.echo(f"{fault.at_s:7.1f} s  {fault}")
        return
    if not isolation.is_isolated():
        _isolate(metadata)
    kill_children_on_exit()
    sys.exit(_run(plan, page or CACHE / "chaos" / f"seed-{seed}.html", figures, keep=keep))


def _isolate(metadata: Kind) -> None:
    """Start again in namespaces of its own, where nothing can be downloaded."""
    if isolation.program() is None:
        part = PARTS["namespaces"]
        raise click.ClickException(f"{part.what} are missing. To have them: {part.install}")
    if metadata == "etcd":
        click.echo("building etcd unless it is up to date")
        etcd_program()
    clock.library()
    command = isolation.isolated([sys.executable, "-m", "tests.chaos.cluster", *sys.argv[1:]])
    os.execvp(command[0], command)


def _run(plan: Plan, page: Path, figures: Path | None, *, keep: bool) -> int:
    home = Path(tempfile.mkdtemp(prefix="dray-chaos-"))
    started = time.monotonic()

    def progress(line: str) -> None:
        click.echo(f"{time.monotonic() - started:6.1f} s  {line}")

    findings = run(plan, home, progress)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(reports.page(findings))
    if figures:
        figures.write_text(reports.as_json(findings))
    for line in findings.violations[:_SHOWN_MAX]:
        click.echo(f"  {line}")
    click.echo(reports.summary(findings))
    click.echo(f"report: {page}")
    if findings.violations or keep:
        click.echo(f"logs and journals are kept in {home}")
    else:
        shutil.rmtree(home)
    return 1 if findings.violations else 0


if __name__ == "__main__":
    main()
