"""One broker in this process, from its start to its shutdown."""

import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from typing import TypeAlias

import uvloop

from dray.observe import chosen_format, configure, get_logger
from dray.runtime import tune_interpreter
from dray.server.broker import Broker, running_broker
from dray.server.errors import StartupError
from dray.server.listeners import check_listeners
from dray.server.stopping import Stop, exit_at_once, stop_on_signals
from dray.server.stores import process_context
from dray.settings import DraySettings
from dray.settings.tree import LoggingSettings

Sidecar: TypeAlias = Callable[[Stop], AbstractAsyncContextManager[None]]
"""Runs next to the brokers until they have stopped."""

_log = get_logger("server")


def no_sidecar(_: Stop) -> AbstractAsyncContextManager[None]:
    return nullcontext()


def run_broker(
    settings: DraySettings,
    ready: Callable[[Broker], None],
    sidecar: Sidecar = no_sidecar,
) -> None:
    """Run a broker until a signal stops this process; `ready` is called once it serves."""
    check_listeners(settings)  # before the sidecar starts
    set_up_logs(settings.logging)
    tune_interpreter()
    uvloop.run(_run(settings, ready, sidecar))


def address_line(kafka: str, http: str) -> str:
    url = http if http.startswith("https://") else f"http://{http}"
    return f"Kafka API on {kafka}, health and metrics on {url}"


def set_up_logs(settings: LoggingSettings) -> None:
    """Send the log lines of this process to standard error."""
    configure(chosen_format(settings.format, sys.stderr), settings.level, sys.stderr)


def log_exposed(files: Iterable[str]) -> None:
    """Warn of files with secrets that every user of the machine can read."""
    for path in files:
        _log.warning("secret_file_exposed", path=path, remedy=f"chmod o-r {path}")


async def _run(settings: DraySettings, ready: Callable[[Broker], None], sidecar: Sidecar) -> None:
    with stop_on_signals(exit_at_once) as stop:
        async with sidecar(stop):
            await serve(settings, stop, ready)


async def serve(settings: DraySettings, stop: Stop, ready: Callable[[Broker], None]) -> None:
    """Run a broker; `ready` is called once it serves. A stop request during the start cancels the start."""
    async with AsyncExitStack() as running:
        starting = running.enter_async_context(running_broker(settings, process_context(), waits=True))
        broker = await stop.unless_requested(starting)
        if broker is None:
            return
        ready(broker)
        broker.supersession.on_found(stop.request)
        await stop.wait()
        if not stop.quiet:
            _log.info("shutdown_started")
    if broker.supersession.reason is not None:
        raise StartupError(broker.supersession.reason)
