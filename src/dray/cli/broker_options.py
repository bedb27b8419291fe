"""Options of the commands that talk to a running broker: `--bootstrap` and `--timeout`."""

import functools
from collections.abc import Callable
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

import click

from dray.cli.failure import Failure
from dray.cli.terminal.params import Parsed
from dray.client import Admin, ClientConfig, ClientError
from dray.client.config import parse_bootstrap

Connect = Callable[[], Admin]

P = ParamSpec("P")
R = TypeVar("R")


def connects(command: Callable[Concatenate[Connect, P], R]) -> Callable[..., R]:
    """Add the options to a command, and call it with what connects to the cluster first.

    A client error ends the command with one line.
    """

    @functools.wraps(command)
    def with_connect(bootstrap: str, timeout_s: float, *args: P.args, **kwargs: P.kwargs) -> R:
        connect = partial(Admin.connect, ClientConfig(bootstrap, timeout_s))
        try:
            return command(connect, *args, **kwargs)
        except ClientError as error:
            raise Failure(str(error)) from error

    timeout = click.option(
        "--timeout",
        "timeout_s",
        type=click.FloatRange(min=0, min_open=True, max=3600),
        default=30.0,
        show_default=True,
        metavar="SECONDS",
        help="How long to wait for a response, retries included.",
    )
    bootstrap = click.option(
        "--bootstrap",
        type=Parsed("address", parse_bootstrap),
        envvar="DRAY_BOOTSTRAP",
        default="127.0.0.1:9092",
        show_default=True,
        metavar="HOST:PORT[,…]",
        help="Addresses of one or more brokers to bootstrap from (also DRAY_BOOTSTRAP).",
    )
    return bootstrap(timeout(with_connect))
