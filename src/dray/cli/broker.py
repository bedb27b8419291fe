"""`dray broker`: one broker of a cluster whose stores are named."""

import click

from dray.cli.assembly import Broker
from dray.cli.options import takes_settings
from dray.cli.serving import address_line, run_broker
from dray.cli.settings import DraySettings, Loaded
from dray.cli.shared_stores import check_named, check_shared


@click.command()
@takes_settings
def broker(loaded: Loaded[DraySettings]) -> None:
    """Run one broker of a cluster.

    It serves what is in the stores you name, beside all other brokers that name the same ones. Unlike
    'dray up' it never chooses a store by itself: --metadata and --storage must be given, here, in the
    settings file or as DRAY_METADATA_URL and DRAY_STORAGE_URL, so that a forgotten setting cannot begin a
    new, empty cluster. With --broker-id each broker of a cluster gets a number of its own.

    On SIGTERM or Ctrl-C it answers what was asked and exits with 0; a second signal does not wait for that.
    """
    check_named(loaded)
    check_shared(loaded.settings)
    run_broker(loaded.settings, _tell)


def _tell(running: Broker) -> None:
    click.echo(f"broker {running.info.broker_id}: {address_line(running.kafka, running.http)}")
