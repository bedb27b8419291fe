"""A broker of a fleet, or its compactor: `python -m dray.cli.fleet`, started by its supervisor alone.

It gets its settings on its standard input and tells there how it fares (see `messages`). When that line is
closed the supervisor is gone, also if it was killed, and the process stops as if it had been told to. Should
stopping get stuck, nobody is left to notice; so it has a limit.
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

from dray.cli.assembly import Broker
from dray.cli.compaction.child import serve_tables
from dray.cli.failure import EXIT_FAILED, Failure, debugging, unexpected_line
from dray.cli.fleet.compacting import NAME as COMPACTOR
from dray.cli.fleet.messages import Failed, Ready, Report, read_settings, report_line
from dray.cli.serving import serve, set_up_logs
from dray.cli.settings import DraySettings
from dray.cli.stopping import Stop
from dray.runtime import set_up_interpreter

_ORPHAN_SECONDS: Final = 60.0
"""How long a process without a supervisor may take to stop, beyond what it waits for answers."""


def main() -> int:
    line = socket.socket(fileno=sys.stdin.fileno())
    told = line.makefile("rb").readline()
    if not told.endswith(b"\n"):
        return EXIT_FAILED  # the supervisor is gone already
    sys.excepthook = partial(_report_unexpected, line)
    settings = read_settings(told)
    set_up_logs(settings.logging)
    set_up_interpreter()
    try:
        uvloop.run(_run(settings, line))
    except Failure as error:
        if debugging():
            traceback.print_exc()
        _report(line, Failed(error.format_message()))
        return error.exit_code
    return 0


async def _run(settings: DraySettings, line: socket.socket) -> None:
    loop, stop = asyncio.get_running_loop(), Stop()

    def ready(broker: Broker) -> None:
        _report(line, Ready(broker.listen, broker.kafka, broker.http))

    def orphaned() -> None:
        loop.remove_reader(line.fileno())
        loop.call_later(settings.net.drain_ms / 1000 + _ORPHAN_SECONDS, os._exit, EXIT_FAILED)
        stop.ask()

    loop.add_reader(line.fileno(), orphaned)

    def dismissed() -> None:
        stop.quiet = True
        stop.ask()

    # Whoever stops a service as a whole tells each process, and the supervisor tells its own once more.
    loop.add_signal_handler(signal.SIGTERM, stop.ask)
    loop.add_signal_handler(signal.SIGINT, dismissed)
    if sys.argv[1:] == [COMPACTOR]:
        await serve_tables(settings, stop)
    else:
        await serve(settings, stop, ready)


def _report(line: socket.socket, report: Report) -> None:
    with suppress(OSError):  # without a supervisor nobody has to be told
        line.sendall(report_line(report))


def _report_unexpected(
    line: socket.socket, kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Tell an error that nobody expected (a `sys.excepthook`)."""
    if debugging():
        traceback.print_exception(kind, error, trace)
    _report(line, Failed(unexpected_line(kind, error)))


if __name__ == "__main__":
    sys.exit(main())
