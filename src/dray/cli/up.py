"""`dray up`: run a broker until it is told to stop."""

import asyncio
import signal
import sys

import click
import uvloop

from dray.cli.broker import running_broker
from dray.cli.options import takes_settings
from dray.cli.settings import DraySettings, Loaded
from dray.cli.wiring import surroundings
from dray.observe import configure
from dray.runtime import set_up_interpreter


@click.command()
@takes_settings
def up(loaded: Loaded[DraySettings]) -> None:
    """Run everything in this one process: a Kafka on your machine.

    Data goes to ./dray-data unless --data-dir says otherwise; Kafka clients connect to 127.0.0.1:9092.
    """
    log_lines = loaded.settings.logging
    log_format = log_lines.format
    if log_format == "auto":
        log_format = "pretty" if sys.stderr.isatty() else "json"
    configure(log_format, log_lines.level, sys.stderr)
    set_up_interpreter()
    uvloop.run(_serve(loaded.settings))


async def _serve(settings: DraySettings) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with running_broker(settings, surroundings()) as broker:
        kafka = f"{broker.info.host}:{broker.info.port}"
        click.echo(f"Kafka is on {kafka}, health and metrics are on http://{broker.http}")
        await stop.wait()
        click.echo("stopping")
