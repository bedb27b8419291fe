"""How a command fails: one clear line on standard error, and an exit code.

0 is success; 2 a call or settings that make no sense, or something that is not installed; 1 anything else,
such as stores that are not where the settings say. A traceback is for whoever mends Dray, and comes with
`DRAY_DEBUG=1` only. A command raises `Failure` for what it expects; what nobody
expected reaches `tell_unexpected` through Python's own hook, so that nothing has to be caught blindly.
"""

import os
import sys
from types import TracebackType

import click
from click.exceptions import NoArgsIsHelpError

EXIT_FAILED = 1
EXIT_USAGE = 2


class Failure(click.ClickException):
    """The command cannot go on; every line of the message is told as it is."""

    exit_code = EXIT_FAILED


class WrongUse(Failure):
    """The arguments or settings make no sense, or what the command needs is not installed."""

    exit_code = EXIT_USAGE


def tell(error: click.ClickException) -> int:
    """Print what went wrong and return the exit code."""
    if isinstance(error, NoArgsIsHelpError):
        error.show()
        return error.exit_code
    lines = error.format_message().splitlines()
    if isinstance(error, click.UsageError) and error.ctx is not None:
        lines[-1:] = [f"{line} ('{error.ctx.command_path} --help' tells more)" for line in lines[-1:]]
    for line in lines:
        click.echo(f"dray: {line}", err=True)
    return error.exit_code


def tell_unexpected(kind: type[BaseException], error: BaseException, _: TracebackType | None) -> None:
    """Print an error that no command expected (a `sys.excepthook`; Python then exits with 1)."""
    sys.stderr.write(f"dray: {unexpected_line(kind, error)}\n")


def unexpected_line(kind: type[BaseException], error: BaseException) -> str:
    first = next(iter(str(error).splitlines()), "")
    text = f"{kind.__name__}: {first}" if first else kind.__name__
    return f"{text} (DRAY_DEBUG=1 shows where)"


def debugging() -> bool:
    """Whether failures are to be shown with their tracebacks."""
    return os.environ.get("DRAY_DEBUG") == "1"
