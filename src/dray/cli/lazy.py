"""Importing a command only when it is used.

Commands pull in whole rooms (stores, the protocol, later Spark), and `dray version` or a completion at
every press of the tab key must not wait for them. An import inside a function would do, but hides the
dependency from every reader and from the layering check; here the table of commands names each module once,
as text, and `importlib` loads it on demand. The short help stands in the table too, so that `dray --help`
loads nothing.
"""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click
from typing_extensions import override


@dataclass(frozen=True, slots=True)
class Lazy:
    """Where a command is (`module:attribute`), and its line in the list of commands."""

    target: str
    short_help: str


class LazyGroup(click.Group):
    """A group whose commands are named in a table."""

    def __init__(self, *args: Any, lazy: Mapping[str, Lazy], **kwargs: Any) -> None:  # noqa: ANN401 -- click's own
        super().__init__(*args, **kwargs)
        self.lazy = lazy

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.lazy)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.lazy:
            return None
        if cmd_name not in self.commands:
            self.commands[cmd_name] = _loaded(self.lazy[cmd_name])
        return self.commands[cmd_name]

    @override
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.lazy and not ctx.resilient_parsing:
            raise click.NoSuchCommand(args[0], possibilities=self.lazy, ctx=ctx)
        return super().resolve_command(ctx, args)

    @override
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.short_help) for name, lazy in self.lazy.items()])


def _loaded(lazy: Lazy) -> click.Command:
    module, _, attribute = lazy.target.partition(":")
    command: click.Command = copy(getattr(import_module(module), attribute))
    command.short_help = lazy.short_help
    return command
