"""Entry point of a supervised process: `python -m dray.server.supervisor`, started by the supervisor only.

The process receives its settings on standard input, which is a socket, and reports its state there (see
`messages`). When the socket is closed the supervisor has exited or was killed, and the process shuts down as
on SIGTERM. An orphan that hangs during shutdown would go unnoticed, so that time is limited.
"""

import asyncio
import os
import signal
import socket
import sys
import traceback
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Final

import uvloop

from dray.runtime import tune_interpreter
from dray.server.broker import Broker
from dray.server.compactor_process import serve_tables
from dray.server.errors import EXIT_FAILED, StartupError, debugging, format_unexpected
from dray.server.serving import serve, set_up_logs
from dray.server.stopping import Stop
from dray.server.supervisor.compactor_sidecar import NAME as COMPACTOR
from dray.server.supervisor.messages import Failed, Ready, Report, read_settings, report_line
from dray.settings import DraySettings

_ORPHAN_SECONDS: Final = 60.0
"""How long an orphan may take to shut down, beyond the drain timeout."""


def main() -> int:
    channel = socket.socket(fileno=sys.stdin.fileno())
    settings_line = channel.makefile("rb").readline()
    if not settings_line.endswith(b"\n"):
        return EXIT_FAILED  # the supervisor has exited
    sys.excepthook = partial(_report_unexpected, channel)
    settings = read_settings(settings_line)
    set_up_logs(settings.logging)
    tune_interpreter()
    try:
        uvloop.run(_run(settings, channel))
    except StartupError as error:
        if debugging():
            traceback.print_exc()
        _report(channel, Failed(str(error)))
        return error.exit_code
    return 0


async def _run(settings: DraySettings, channel: socket.socket) -> None:
    loop, stop = asyncio.get_running_loop(), Stop()

    def ready(broker: Broker) -> None:
        _report(channel, Ready(broker.info.broker_id, broker.listen, broker.kafka, broker.http))

    def orphaned() -> None:
        loop.remove_reader(channel.fileno())
        drain_ms = settings.broker.drain_ms + settings.net.shutdown_drain_timeout_ms
        patience_s = drain_ms / 1000 + _ORPHAN_SECONDS
        loop.call_later(patience_s, os._exit, EXIT_FAILED)
        stop.request()

    loop.add_reader(channel.fileno(), orphaned)

    def stop_quietly() -> None:
        stop.quiet = True
        stop.request()

    # A service manager signals every process of a service, and the supervisor signals its children as well.
    loop.add_signal_handler(signal.SIGTERM, stop.request)
    loop.add_signal_handler(signal.SIGINT, stop_quietly)
    if sys.argv[1:] == [COMPACTOR]:
        await serve_tables(settings, stop)
    else:
        await serve(settings, stop, ready)


def _report(channel: socket.socket, report: Report) -> None:
    with suppress(OSError):  # the supervisor has exited
        channel.sendall(report_line(report))


def _report_unexpected(
    channel: socket.socket, kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Report an error that no code handled (a `sys.excepthook`)."""
    if debugging():
        traceback.print_exception(kind, error, trace)
    _report(channel, Failed(format_unexpected(kind, error)))


if __name__ == "__main__":
    sys.exit(main())
