"""`dray compaction`: the progress of compaction."""

import json

import click

from dray.cli.render.compaction import as_json as json_of
from dray.cli.render.compaction import as_text
from dray.cli.settings_options import STORE_FLAGS, takes_settings
from dray.maintenance.status import TopicStatus, status_of
from dray.scan.access import OpenCluster
from dray.server.cluster_query import query_cluster, topics_named
from dray.settings import DraySettings, Loaded


@click.group
def compaction() -> None:
    """Show the progress of compaction.

    \b
    Example:
      dray compaction status orders
    """


@compaction.command
@click.argument("topic", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
@takes_settings(STORE_FLAGS)
def status(loaded: Loaded[DraySettings], topic: str | None, *, as_json: bool) -> None:
    """Show the backlog and the last compaction job of each partition.

    A job is created, written (its files exist), published (the table has them) or done; a job left
    unfinished is completed by the next compactor. A topic that is being compacted names its compactor, and
    one that cannot be compacted says why. Records that cannot become rows are skipped: they stay in the
    WAL, readable as before, and are listed with the reason. No broker is needed, and running ones are not
    disturbed.

    \b
    Examples:
      dray compaction status
      dray compaction status orders --json --data-dir ./dray-data
    """

    async def query(cluster: OpenCluster) -> tuple[list[TopicStatus], int]:
        topics = await topics_named(cluster, topic)
        found = [await status_of(cluster.meta, cluster.domains, one) for one in topics]
        return found, cluster.clock.now_ms()

    found, now_ms = query_cluster(loaded.settings, query)
    click.echo(json.dumps(json_of(found, now_ms), indent=2) if as_json else as_text(found, now_ms))
