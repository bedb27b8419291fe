"""`dray check`: find and repair what is wrong in the stores."""

import sys
from dataclasses import dataclass, field
from typing import Final

import click

from dray.check.deps import Owner, Progress
from dray.check.findings import Finding, Severity
from dray.check.repairer import Repaired
from dray.cli.render.check import (
    Counts,
    Reported,
    as_json_line,
    as_text,
    located,
    progress_text,
    repair_line,
    summary_json_line,
)
from dray.cli.settings_options import TABLE_FLAGS, takes_settings
from dray.ids import StreamId
from dray.runtime import Clock
from dray.scan.access import OpenCluster
from dray.server.check_query import check_cluster, check_deps, tables_to_check
from dray.server.cluster_query import query_cluster, topics_named
from dray.server.errors import EXIT_FAILED, ConfigurationError, StartupError
from dray.settings import DraySettings, Loaded

_EVERY_S: Final = 0.5
_KEPT_MAX: Final = 10_000
"""Findings that the text report holds."""
_SERIOUS: Final = (Severity.LOST, Severity.WRONG)


@click.command
@click.argument("topics", metavar="[TOPIC]...", nargs=-1)
@click.option("--repair", is_flag=True, help="Repair what can be repaired safely, and print each change.")
@click.option("--deep", is_flag=True, help="Read all objects, and verify their checksums.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per finding, then the counts.")
@takes_settings(TABLE_FLAGS)
def check(
    loaded: Loaded[DraySettings], topics: tuple[str, ...], *, repair: bool, deep: bool, as_json: bool
) -> int:
    """Compare index, objects, reference counts, Parquet files, tables and groups with each other.

    Brokers and compactors may run: a finding is reported only after it was confirmed. Nothing is changed
    without --repair; each repair is one conditional commit, and none deletes what the index or a table
    references. What cannot be repaired is listed with what you can do.

    Findings are `lost` (records cannot be read), `wrong`, `leak` (only space is wasted) or `note`. The exit
    code is 1 if something lost or wrong is left, 0 otherwise.

    With TOPICs, only their partitions, objects and tables are checked; reference counts, and objects that no
    key names, follow from all topics. --deep reads every byte of the WAL twice, and the footers of Parquet
    files.

    \b
    Examples:
      dray check --data-dir ./dray-data
      dray check orders --deep
      dray check --repair --json | jq -r 'select(.severity == "lost")'
    """
    shown = _Shown(as_json=as_json)
    try:
        open_tables = tables_to_check(loaded.settings)
    except ConfigurationError as error:
        click.echo(f"dray: tables are not checked: {error}", err=True)
        open_tables = None

    async def query(cluster: OpenCluster) -> None:
        shown.clock = cluster.clock
        wanted = [topic for name in dict.fromkeys(topics) for topic in await topics_named(cluster, name)]
        deps = check_deps(cluster, loaded.settings, shown.progress, shown.report, deep=deep)
        await check_cluster(
            cluster,
            deps,
            topics=wanted,
            open_tables=open_tables,
            repair=repair,
            take=shown.take,
        )

    try:
        query_cluster(loaded.settings, query)
    except StartupError:
        shown.finish(incomplete=True)
        raise
    shown.finish()
    return EXIT_FAILED if shown.serious else 0


@dataclass(slots=True)
class _Shown:
    """What is printed: findings as they come with --json, otherwise progress, and a report at the end."""

    as_json: bool
    clock: Clock | None = None
    progress: Progress = field(default_factory=Progress)
    found: list[Reported] = field(default_factory=list)
    """Those of the report, which leaves out what is beyond its limit."""
    counts: Counts = field(default_factory=Counts)
    serious: int = 0
    _on_terminal: bool = field(init=False)
    _reported: float = 0.0

    def __post_init__(self) -> None:
        self._on_terminal = sys.stderr.isatty()

    def take(
        self, finding: Finding, owners: dict[StreamId, Owner], done: Repaired | None, repairable: bool
    ) -> None:
        """Print or keep a finding."""
        one = located(finding, owners, done, repairable=repairable)
        self.serious += one.is_open and finding.severity in _SERIOUS
        if self.as_json:
            self.clear()
            click.echo(as_json_line(one))
        else:
            self._keep(one)
        self.counts.add(one)

    def _keep(self, one: Reported) -> None:
        """Keep a finding for the report, and print a change of the stores at once."""
        if one.repaired is not None:
            self.clear()
            click.echo(repair_line(one))
        if len(self.found) < _KEPT_MAX:
            self.found.append(one)

    def report(self) -> None:
        """Show the progress on a terminal, at most every half second."""
        if not self._on_terminal or self.clock is None:
            return
        now = self.clock.monotonic()
        if now - self._reported >= _EVERY_S:
            self._reported = now
            click.echo(f"\r\x1b[K{progress_text(self.progress)}", err=True, nl=False)

    def clear(self) -> None:
        """Remove the line of progress."""
        if self._on_terminal:
            click.echo("\r\x1b[K", err=True, nl=False)

    def finish(self, *, incomplete: bool = False) -> None:
        """Print the report or the counts; those of an incomplete check only if it has found something."""
        self.clear()
        if incomplete and not self.counts.findings:
            return
        if self.as_json:
            click.echo(summary_json_line(self.counts, self.progress))
            return
        if any(one.repaired is not None for one in self.found):
            click.echo()  # after their lines
        click.echo(as_text(self.found, self.progress))
        left_out = self.counts.findings - len(self.found)
        if left_out:
            click.echo(f"{left_out} more findings are not shown; --json prints all")
