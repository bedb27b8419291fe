"""Command failures: one line on standard error, and an exit code.

Exit code 0 is success, 2 invalid arguments or settings or a missing dependency, 1 any other failure. A
traceback is printed only with `DRAY_DEBUG=1`. A command raises `Failure` for what it expects, and lets a
`StartupError` of the server pass; anything else reaches `report_unexpected` through Python's own hook, so
that nothing has to be caught blindly.
"""

import sys
from types import TracebackType

import click
from click.exceptions import NoArgsIsHelpError

from dray.server.errors import EXIT_FAILED, EXIT_USAGE, StartupError, format_unexpected


class Failure(click.ClickException):
    """The command failed; each line of the message is printed."""

    exit_code = EXIT_FAILED


class WrongUse(Failure):
    """The arguments or settings are invalid, or a dependency is not installed."""

    exit_code = EXIT_USAGE


def report(error: click.ClickException | StartupError) -> int:
    """Print the message and return the exit code."""
    if isinstance(error, NoArgsIsHelpError):
        error.show()
        return error.exit_code
    for line in _lines(error):
        click.echo(f"dray: {line}", err=True)
    return error.exit_code


def _lines(error: click.ClickException | StartupError) -> list[str]:
    if isinstance(error, StartupError):
        return str(error).splitlines()
    lines = error.format_message().splitlines()
    if isinstance(error, click.UsageError) and error.ctx is not None:
        lines[-1:] = [f"{line} (see '{error.ctx.command_path} --help')" for line in lines[-1:]]
    return lines


def report_unexpected(kind: type[BaseException], error: BaseException, _: TracebackType | None) -> None:
    """Print an unexpected error (a `sys.excepthook`; Python then exits with 1)."""
    sys.stderr.write(f"dray: {format_unexpected(kind, error)}\n")
