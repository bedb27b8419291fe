"""`dray compaction`: see how far topics have become tables."""

import json

import click

from dray.cli.cluster_look import chosen_topics, look_into_cluster
from dray.cli.compaction_pages import as_json as json_of
from dray.cli.compaction_pages import as_text
from dray.cli.options import takes_settings
from dray.cli.settings import DraySettings, Loaded
from dray.pipeline.access import OpenCluster
from dray.pipeline.status import TopicStatus, status_of


@click.group
def compaction() -> None:
    """See how far topics have become tables.

    \b
    Example:
      dray compaction status orders
    """


@compaction.command
@click.argument("topic", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
@takes_settings
def status(loaded: Loaded[DraySettings], topic: str | None, *, as_json: bool) -> None:
    """Show, for every partition, what is not in Parquet yet and what compaction did last.

    The last job is done, or it is created, written (its files are there) or tabled (they are in the table);
    one of these that nobody works on is finished by the next compactor. Whoever works on a topic now is named
    beside it; why a topic is not compacted stands under it, until that goes well. No broker is needed, and
    nothing is disturbed.

    \b
    Examples:
      dray compaction status
      dray compaction status orders --json --data-dir ./dray-data
    """

    async def look(cluster: OpenCluster) -> tuple[list[TopicStatus], int]:
        topics = await chosen_topics(cluster, topic)
        found = [await status_of(cluster.meta, cluster.domains, one) for one in topics]
        return found, cluster.clock.now_ms()

    found, now_ms = look_into_cluster(loaded.settings, look)
    click.echo(json.dumps(json_of(found, now_ms), indent=2) if as_json else as_text(found, now_ms))
