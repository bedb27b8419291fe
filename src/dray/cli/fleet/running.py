"""`dray up --brokers N` as it runs."""

import asyncio
from collections.abc import Sequence

import click

from dray.cli.fleet.messages import Ready
from dray.cli.fleet.plan import plan_fleet
from dray.cli.fleet.process import BrokerProcess
from dray.cli.fleet.supervisor import Supervisor
from dray.cli.serving import address_line, set_up_logs
from dray.cli.settings import DraySettings
from dray.cli.stopping import stop_on_signals
from dray.runtime import SystemClock


def run_fleet(settings: DraySettings, count: int) -> None:
    """Run so many brokers until a signal tells this process to stop."""
    plans = plan_fleet(settings, count)
    set_up_logs(settings.logging)
    asyncio.run(_run(plans))


async def _run(plans: Sequence[DraySettings]) -> None:
    clock = SystemClock()
    supervisor = Supervisor(plans, lambda settings: BrokerProcess(settings, clock), clock)

    def tell(addresses: Sequence[Ready]) -> None:
        for settings, ready in zip(plans, addresses, strict=True):
            click.echo(f"broker {settings.broker.id}: {address_line(ready.kafka, ready.http)}")

    with stop_on_signals() as stop:
        await supervisor.run(stop, tell)
