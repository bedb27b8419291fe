"""`dray compactor`: compact topics into Iceberg tables."""

from typing import TYPE_CHECKING

import click
import uvloop

from dray.cli.failure import Failure
from dray.cli.settings_options import TABLE_FLAGS, takes_settings
from dray.runtime import LazyModule
from dray.server.compactor_process import check_requirements, show_files
from dray.server.serving import log_exposed, set_up_logs
from dray.server.stopping import stop_on_signals
from dray.server.store_urls import check_exist
from dray.server.stores import process_context
from dray.settings import DraySettings, Loaded

if TYPE_CHECKING:
    from dray.server import compaction_loop
else:  # Spark's and Iceberg's libraries, which may not be installed; checked before use
    compaction_loop = LazyModule("dray.server.compaction_loop")


@click.command()
@click.option("--once", is_flag=True, help="Compact everything now, regardless of age, and exit.")
@takes_settings(TABLE_FLAGS)
def compactor(loaded: Loaded[DraySettings], *, once: bool) -> None:
    """Compact the topics of a cluster into Iceberg tables.

    Records are written as Parquet files once they are old, large or numerous enough. The files are both
    segments of the topic and data files of its table. 'dray up' includes a compactor; a cluster of 'dray
    broker' processes needs one or more, on any machine that reaches the stores. Spark runs inside the
    compactor unless '--set spark.master=URL' names a cluster.

    A compactor may be stopped or killed at any time; the next one resumes its work.

    \b
    Examples:
      dray compactor --once
      dray compactor --metadata sqlite:/srv/dray/metadata.sqlite --storage s3://logs \\
        --catalog http://catalog:8181
    """
    check_exist(loaded.settings)
    check_requirements()
    set_up_logs(loaded.settings.logging)
    log_exposed(loaded.exposed)
    uvloop.run(_run_once(loaded.settings) if once else _run(loaded.settings))


async def _run(settings: DraySettings) -> None:
    what = f"compacting {settings.metadata.url} and {settings.storage.url} for {settings.tables.catalog}"
    with stop_on_signals() as stop:
        await compaction_loop.run_compactor(settings, stop, show_files, lambda: click.echo(what))


async def _run_once(settings: DraySettings) -> None:
    with stop_on_signals() as stop:
        progress = await compaction_loop.compact_once(settings, process_context(), stop, show_files)
    click.echo(f"wrote {progress.records:,} records in {progress.files:,} files")
    if progress.held_by_others:
        click.echo(f"another compactor is compacting: {', '.join(sorted(progress.held_by_others))}")
    for topic, records in progress.skipped_records.items():
        click.echo(f"{records:,} records of {topic} stay in the WAL: see 'dray compaction status {topic}'")
    if not progress.is_complete or progress.skipped_records:
        raise Failure("not everything could be compacted; see above")
