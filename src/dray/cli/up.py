"""`dray up`: everything on this machine, in one process or with several brokers."""

from contextlib import nullcontext

import click

from dray.cli.assembly import Broker
from dray.cli.fleet import BROKERS_MAX, run_fleet
from dray.cli.fleet.compacting import compacting_beside
from dray.cli.options import takes_settings
from dray.cli.serving import address_line, run_broker
from dray.cli.settings import DraySettings, Loaded
from dray.runtime import SystemClock


@click.command()
@takes_settings
@click.option(
    "--brokers",
    type=click.IntRange(1, BROKERS_MAX),
    default=1,
    show_default=True,
    metavar="N",
    help="How many brokers to run, each in a process of its own.",
)
@click.option(
    "--compaction/--no-compaction",
    default=True,
    show_default=True,
    help="Whether topics become tables, in a process beside the brokers.",
)
def up(loaded: Loaded[DraySettings], *, brokers: int, compaction: bool) -> None:
    """Run everything on this machine: a Kafka in one command.

    Data goes to ./dray-data unless --data-dir says otherwise; Kafka clients connect to 127.0.0.1:9092, health
    and metrics are on 127.0.0.1:8090. Ctrl-C lets it answer what was asked and ends it; a second one does not
    wait for that.

    One broker uses about one core. With --brokers N there are N of them on the same stores, any of which
    serves everything; the next one has the next id, the next Kafka port and the next HTTP port. One that
    dies is started again.

    Topics become Iceberg tables within a minute, in a process beside the brokers that starts Spark when there
    is something to do. Without Java or Spark on the machine, that is said and the brokers run on.

    'dray broker' runs a single broker of a cluster whose stores you name.
    """
    beside = compacting_beside(loaded.settings, SystemClock()) if compaction else nullcontext()
    if brokers == 1:
        run_broker(loaded.settings, _tell, beside)
    else:
        run_fleet(loaded.settings, brokers, beside)


def _tell(running: Broker) -> None:
    click.echo(address_line(running.kafka, running.http))
