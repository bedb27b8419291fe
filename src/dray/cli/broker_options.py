"""Options of the commands that talk to a running broker: `--bootstrap`, `--command-config`, `--timeout`."""

import functools
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import click

from dray.cli.failure import Failure, WrongUse
from dray.cli.terminal.params import Parsed
from dray.client import Admin, ClientConfig, ClientError
from dray.client.command_config import parse_command_config
from dray.client.config import parse_bootstrap
from dray.client.errors import InvalidProperties

Connect = Callable[[], Admin]

P = ParamSpec("P")
R = TypeVar("R")


def connects(command: Callable[Concatenate[Connect, P], R]) -> Callable[..., R]:
    """Add the options to a command, and call it with what connects to the cluster first.

    A client error ends the command with one line.
    """

    @functools.wraps(command)
    def with_connect(
        bootstrap: str, timeout_s: float, command_config: str | None, *args: P.args, **kwargs: P.kwargs
    ) -> R:
        properties = {} if command_config is None else _properties(command_config)
        connect = partial(Admin.connect, ClientConfig(bootstrap, timeout_s, properties))
        try:
            return command(connect, *args, **kwargs)
        except InvalidProperties as error:
            raise WrongUse(f"{command_config}: {error}") from error
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
    file = click.option(
        "--command-config",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Properties file of Kafka's tools: security.protocol, ssl.*, sasl.*",
    )
    return bootstrap(file(timeout(with_connect)))


def _properties(path: str) -> dict[str, str]:
    try:
        return parse_command_config(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise WrongUse(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise WrongUse(f"{path}: {error}") from error
