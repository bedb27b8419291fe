"""`dray up`: brokers and a compactor on this machine."""

from functools import partial

import click

from dray.cli.settings_options import takes_settings
from dray.runtime import SystemClock
from dray.server.broker import Broker
from dray.server.serving import address_line, log_exposed, no_sidecar, run_broker, set_up_logs
from dray.server.supervisor import BROKERS_MAX, run_brokers
from dray.server.supervisor.compactor_sidecar import compactor_sidecar
from dray.settings import DraySettings, Loaded


@click.command()
@click.option(
    "--brokers",
    type=click.IntRange(1, BROKERS_MAX),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of brokers, each in its own process.",
)
@click.option(
    "--compaction/--no-compaction",
    default=True,
    show_default=True,
    help="Compact topics into Iceberg tables, in a separate process.",
)
@takes_settings()
def up(loaded: Loaded[DraySettings], *, brokers: int, compaction: bool) -> None:
    """Run a local broker (Kafka API, Iceberg tables).

    Data is stored in ./dray-data (see --data-dir). Kafka clients connect to 127.0.0.1:9092; health and
    metrics are at http://127.0.0.1:8090. Ctrl-C shuts down gracefully; press it again to exit immediately.

    A broker uses about one core. --brokers N runs N of them on the same stores, with consecutive ids and
    ports; any of them serves every partition. A broker that crashes is restarted.

    Topics become Iceberg tables within a minute. The compactor runs in its own process and starts Spark when
    there is work. Without Java or Spark, only the brokers run, and the log says so.

    To run a broker of a cluster with shared stores, use 'dray broker'.

    \b
    Examples:
      dray up
      dray up --brokers 2 --data-dir /srv/dray
    """
    set_up_logs(loaded.settings.logging)
    log_exposed(loaded.exposed)
    compactor = partial(compactor_sidecar, loaded.settings, SystemClock())
    sidecar = compactor if compaction else no_sidecar
    if brokers == 1:
        run_broker(loaded.settings, _announce, sidecar)
    else:
        run_brokers(loaded.settings, brokers, click.echo, sidecar)


def _announce(running: Broker) -> None:
    click.echo(address_line(running.kafka, running.http))
