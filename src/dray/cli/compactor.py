"""`dray compactor`: turn topics into tables."""

from typing import TYPE_CHECKING

import click
import uvloop
from msgspec import structs

from dray.cli.compaction.needs import check_needs
from dray.cli.failure import Failure
from dray.cli.inspection import check_there
from dray.cli.options import takes_settings
from dray.cli.serving import set_up_logs
from dray.cli.settings import DraySettings, Loaded
from dray.cli.stopping import stop_on_signals
from dray.cli.wiring import surroundings
from dray.runtime import LazyModule

if TYPE_CHECKING:
    from dray.cli.compaction import assembly, turns
else:  # Spark's and Iceberg's libraries; they may be missing, which is told before
    assembly = LazyModule("dray.cli.compaction.assembly")
    turns = LazyModule("dray.cli.compaction.turns")


@click.command()
@click.option("--once", is_flag=True, help="Compact all that is there now, however young, and end.")
@takes_settings
def compactor(loaded: Loaded[DraySettings], *, once: bool) -> None:
    """Turn the topics of a cluster into Iceberg tables, beside the brokers that serve it.

    Records that are old, large or many enough are written as Parquet files, which are from then on both the
    topic's segments and the data files of its table. 'dray up' does this by itself; a cluster of 'dray
    broker's needs one compactor, or several, on any machine that reaches the stores. Spark runs inside
    unless --set spark.master names a cluster.

    It may be stopped or killed at any moment: the next one goes on where it was.

    \b
    Examples:
      dray compactor --once
      dray compactor --metadata sqlite:/srv/dray/metadata.sqlite --storage s3://logs --catalog http://catalog:8181
    """
    check_there(loaded.settings)
    check_needs()
    set_up_logs(loaded.settings.logging)
    uvloop.run(_run_once(loaded.settings) if once else _run(loaded.settings))


async def _run(settings: DraySettings) -> None:
    around, told = surroundings(), turns.Told()
    with stop_on_signals() as stop:
        async with assembly.running_compactor(settings, around, told.note) as running:
            click.echo(
                f"compacting {settings.metadata.url} and {settings.storage.url} for {settings.tables.catalog}"
            )
            await turns.go_on(running, told, settings.compaction.interval_ms / 1000, around.clock, stop)


async def _run_once(settings: DraySettings) -> None:
    eager = structs.replace(settings, compaction=structs.replace(settings.compaction, wal_age_ms_max=0))
    around, told = surroundings(), turns.Told()
    with stop_on_signals() as stop:
        async with assembly.running_compactor(eager, around, told.note) as running:
            await turns.until_nothing_is_left(running, told, stop)
    click.echo(f"wrote {told.records:,} records in {told.files:,} files")
    if told.left_to_others:
        click.echo(f"another compactor is at: {', '.join(sorted(told.left_to_others))}")
    if told.failures:
        raise Failure("not everything could be compacted; the lines above say what and why")
