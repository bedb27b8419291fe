"""The options of every command that talks to a running broker, and how such a command runs."""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, TypeVar

import click

from dray.cli.addresses import Address, parse_bootstrap
from dray.cli.client import ClientError, ClientParts, Cluster
from dray.cli.failure import Failure
from dray.runtime import SystemClock, SystemEntropy, Tasks

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Contact:
    """Which brokers to talk to, and for how long to try."""

    bootstrap: tuple[Address, ...]
    timeout_s: float

    def run(self, work: Callable[[Cluster], Awaitable[T]]) -> T:
        """Connect, do the work, hang up; what goes wrong with a broker ends the command with one line."""
        try:
            return asyncio.run(self._run(work))
        except ClientError as error:
            raise Failure(str(error)) from error

    async def _run(self, work: Callable[[Cluster], Awaitable[T]]) -> T:
        tasks = Tasks()
        cluster = Cluster(self.bootstrap, ClientParts(SystemClock(), SystemEntropy(), tasks, self.timeout_s))
        try:
            await cluster.any()
            return await work(cluster)
        finally:
            await cluster.close()
            await tasks.stop()


class _Bootstrap(click.ParamType[tuple[Address, ...]]):
    """HOST:PORT, or several."""

    name = "address"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Address, ...]:
        try:
            return parse_bootstrap(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


def talks_to_brokers(command: Callable[Concatenate[Contact, P], R]) -> Callable[..., R]:
    """Add --bootstrap and --timeout to a command, and call it with a `Contact` first."""

    @functools.wraps(command)
    def with_contact(
        bootstrap: tuple[Address, ...], timeout_s: float, *args: P.args, **kwargs: P.kwargs
    ) -> R:
        return command(Contact(bootstrap, timeout_s), *args, **kwargs)

    timeout = click.option(
        "--timeout",
        "timeout_s",
        type=click.FloatRange(min=0, min_open=True),
        default=30.0,
        show_default=True,
        metavar="SECONDS",
        help="How long to wait for an answer and to try again.",
    )
    bootstrap = click.option(
        "--bootstrap",
        type=_Bootstrap(),
        envvar="DRAY_BOOTSTRAP",
        default="127.0.0.1:9092",
        show_default=True,
        metavar="HOST:PORT[,…]",
        help="A broker to begin with, or several (also DRAY_BOOTSTRAP).",
    )
    return bootstrap(timeout(with_contact))
