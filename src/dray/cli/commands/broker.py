"""`dray broker`: one broker of a cluster with shared stores."""

import click

from dray.cli.settings_options import BROKER_FLAGS, takes_settings
from dray.server.broker import Broker
from dray.server.serving import address_line, log_exposed, run_broker, set_up_logs
from dray.server.store_urls import check_named, check_shared
from dray.settings import DraySettings, Loaded


@click.command()
@takes_settings(BROKER_FLAGS, required=("--metadata", "--storage"))
def broker(loaded: Loaded[DraySettings]) -> None:
    """Run one broker of a cluster.

    All brokers of a cluster use the same metadata store and object store. Both must be named, with --metadata
    and --storage, in the settings file, or as DRAY_METADATA_URL and DRAY_STORAGE_URL: unlike 'dray up' this
    command has no default stores, so that a forgotten setting cannot start a new, empty cluster. A broker
    needs no --broker-id: the metadata store assigns one to each advertised address.

    SIGTERM or Ctrl-C shuts down gracefully with exit code 0; a second signal exits immediately.

    \b
    Example:
      dray broker --metadata etcd://10.0.0.1:2379/dray --storage s3://logs --listen SSL://10.0.0.9:9093
    """
    check_named(loaded)
    check_shared(loaded.settings)
    set_up_logs(loaded.settings.logging)
    log_exposed(loaded.exposed)
    run_broker(loaded.settings, _announce)


def _announce(running: Broker) -> None:
    click.echo(f"broker {running.info.broker_id}: {address_line(running.kafka, running.http)}")
