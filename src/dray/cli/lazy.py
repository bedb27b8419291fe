"""Commands imported on first use.

Commands import whole packages (stores, the protocol, Spark), and `dray --version` or shell completion must
not wait for them. An import inside a function would work, but hides the dependency from readers and from
the check of layers; here one table names each module as text, and `importlib` loads it on demand. The table
also has the short help, so that `dray --help` loads nothing.
"""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click
from typing_extensions import override


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """A command's location (`module:attribute`) and its line in the list of commands."""

    target: str
    short_help: str


class LazyGroup(click.Group):
    """Command group defined by a table."""

    def __init__(self, *args: Any, lazy: Mapping[str, LazyCommand], **kwargs: Any) -> None:  # noqa: ANN401 -- click's own
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


def _loaded(lazy: LazyCommand) -> click.Command:
    module, _, attribute = lazy.target.partition(":")
    command: click.Command = copy(getattr(import_module(module), attribute))
    command.short_help = lazy.short_help
    return command
