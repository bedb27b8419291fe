"""`dray up --brokers N` as it runs."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext

import click

from dray.cli.fleet.member import broker_name
from dray.cli.fleet.messages import Ready
from dray.cli.fleet.plan import plan_fleet
from dray.cli.fleet.process import ChildProcess
from dray.cli.fleet.supervisor import Supervisor
from dray.cli.serving import address_line, set_up_logs
from dray.cli.settings import DraySettings
from dray.cli.stopping import stop_on_signals
from dray.runtime import SystemClock


def run_fleet(
    settings: DraySettings, count: int, beside: AbstractAsyncContextManager[None] | None = None
) -> None:
    """Run so many brokers until a signal tells this process to stop."""
    plans = plan_fleet(settings, count)
    set_up_logs(settings.logging)
    asyncio.run(_run(plans, beside or nullcontext()))


async def _run(plans: Sequence[DraySettings], beside: AbstractAsyncContextManager[None]) -> None:
    clock = SystemClock()
    supervisor = Supervisor(
        plans, lambda settings: ChildProcess(broker_name(settings), settings, clock), clock
    )

    def tell(addresses: Sequence[Ready]) -> None:
        for settings, ready in zip(plans, addresses, strict=True):
            click.echo(f"broker {settings.broker.id}: {address_line(ready.kafka, ready.http)}")

    with stop_on_signals() as stop:
        async with beside:
            await supervisor.run(stop, tell)
