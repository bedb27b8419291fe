"""`dray gc`: delete objects that nothing needs."""

import json

import click

from dray.cli.cluster_look import look_into_cluster
from dray.cli.failure import Failure
from dray.cli.gc_pages import as_json as json_of
from dray.cli.gc_pages import as_text
from dray.cli.gc_pass import Collected, gone_through
from dray.cli.options import takes_settings
from dray.cli.settings import DraySettings, Loaded
from dray.pipeline.access import OpenCluster


@click.group
def gc() -> None:
    """Delete objects that nothing needs.

    \b
    Example:
      dray gc run --dry-run
    """


@gc.command
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, and why; change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@takes_settings
def run(loaded: Loaded[DraySettings], *, dry_run: bool, as_json: bool) -> None:
    """Go once through everything that brokers sweep, now.

    Brokers do the same by themselves, every minute and every few hours. What is too old or too much by the
    topics' retention is given up; objects that nothing points to any more are deleted when the grace for
    their readers is over, and so is what dead processes have left behind once it is old enough. What was just
    given up is deleted by a later pass.

    A file that retention gave up is deleted when compaction has taken it out of the table. The folders of
    tables, with their metadata and what other engines wrote, are not looked at: compactors sweep them.

    \b
    Examples:
      dray gc run --dry-run
      dray gc run --data-dir ./dray-data
    """

    async def look(cluster: OpenCluster) -> Collected:
        return await gone_through(cluster, loaded.settings.log, dry_run=dry_run)

    done = look_into_cluster(loaded.settings, look)
    told = json_of(done, dry_run=dry_run)
    click.echo(json.dumps(told, indent=2) if as_json else as_text(done, dry_run=dry_run))
    if done.failures:
        raise Failure("\n".join(done.failures))
