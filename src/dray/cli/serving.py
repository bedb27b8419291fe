"""One broker in this process, from its start until it is told to stop."""

import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext

import uvloop

from dray.cli.assembly import Broker, running_broker
from dray.cli.settings import DraySettings
from dray.cli.settings.tree import LoggingSettings
from dray.cli.stopping import Stop, end_process, stop_on_signals
from dray.cli.wiring import surroundings
from dray.observe import configure, get_logger, logged_fields
from dray.runtime import set_up_interpreter

_log = get_logger("cli")


def run_broker(
    settings: DraySettings,
    ready: Callable[[Broker], None],
    beside: AbstractAsyncContextManager[None] | None = None,
) -> None:
    """Run a broker until a signal tells this process to stop; `ready` is called once it serves."""
    set_up_logs(settings.logging)
    set_up_interpreter()
    uvloop.run(_run(settings, ready, beside or nullcontext()))


def address_line(kafka: str, http: str) -> str:
    return f"Kafka is on {kafka}, health and metrics are on http://{http}"


def set_up_logs(settings: LoggingSettings) -> None:
    """Send the log lines of this process to standard error."""
    chosen = settings.format
    if chosen == "auto":
        chosen = "pretty" if sys.stderr.isatty() else "json"
    configure(chosen, settings.level, sys.stderr)


async def _run(
    settings: DraySettings, ready: Callable[[Broker], None], beside: AbstractAsyncContextManager[None]
) -> None:
    with stop_on_signals(end_process) as stop:
        async with beside:
            await serve(settings, stop, ready)


async def serve(settings: DraySettings, stop: Stop, ready: Callable[[Broker], None]) -> None:
    """Run a broker; `ready` is called once it serves. Told to stop while it starts, it gives up starting."""
    with logged_fields(broker=settings.broker.id):
        async with AsyncExitStack() as running:
            starting = running.enter_async_context(running_broker(settings, surroundings()))
            broker = await stop.unless_asked(starting)
            if broker is None:
                return
            ready(broker)
            await stop.wait()
            if not stop.quiet:
                _log.info("stopping")
