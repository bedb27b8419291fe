"""`dray gc`: garbage collection."""

import json

import click

from dray.cli.failure import Failure
from dray.cli.render.gc import as_json as json_of
from dray.cli.render.gc import as_text
from dray.cli.settings_options import STORE_FLAGS, takes_settings
from dray.scan.access import OpenCluster
from dray.server.cluster_query import query_cluster
from dray.settings import DraySettings, Loaded
from dray.sweep.gc_pass import GcReport, run_gc_pass


@click.group
def gc() -> None:
    """Delete unreferenced objects.

    \b
    Example:
      dray gc run --dry-run
    """


@gc.command
@click.option("--dry-run", is_flag=True, help="Print what would be deleted, and why, without deleting.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@takes_settings(STORE_FLAGS)
def run(loaded: Loaded[DraySettings], *, dry_run: bool, as_json: bool) -> None:
    """Run one garbage collection now.

    Brokers do the same in the background, every minute and every few hours. Retention expires the oldest
    records; objects without references are deleted after a grace period for their readers, and so are objects
    that crashed processes left behind, once they are old enough. What expires now is deleted by a later run.

    A Parquet file whose records have expired is deleted once compaction has removed it from the table. The
    directories of tables, with their metadata and the files of other engines, are left to compactors.

    \b
    Examples:
      dray gc run --dry-run
      dray gc run --data-dir ./dray-data
    """

    async def query(cluster: OpenCluster) -> GcReport:
        return await run_gc_pass(cluster, loaded.settings.log, dry_run=dry_run)

    done = query_cluster(loaded.settings, query)
    if as_json:
        click.echo(json.dumps(json_of(done, dry_run=dry_run), indent=2))
    else:
        click.echo(as_text(done, dry_run=dry_run))
    if done.failures:
        raise Failure("\n".join(done.failures))
