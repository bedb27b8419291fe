"""The options of every command that runs on settings: `--config`, `--set`, and the settings' own flags."""

import functools
import os
from collections.abc import Callable
from typing import Concatenate, Final, ParamSpec, TypeVar

import click

from dray.cli.failure import WrongUse
from dray.cli.settings import DraySettings, Loaded, SettingsError, load_settings, schema_of
from dray.cli.settings.schema import Field

P = ParamSpec("P")
R = TypeVar("R")

_CONFIG_HELP: Final = "The settings file (also DRAY_CONFIG)."
_FLAGGED: Final = {field.flag: field for field in schema_of(DraySettings).fields() if field.flag is not None}
_SET_HELP: Final = "Give any setting; docs/SETTINGS.md lists them. May be repeated."


def takes_settings(command: Callable[Concatenate[Loaded[DraySettings], P], R]) -> Callable[..., R]:
    """Add the options to a command and call it with the settings in effect first."""
    own = {_parameter(field): flag for flag, field in _FLAGGED.items()}

    @functools.wraps(command)
    def with_settings(config: str | None, pairs: tuple[str, ...], *args: P.args, **kwargs: P.kwargs) -> R:
        texts = {flag: kwargs.pop(name) for name, flag in own.items()}
        flags = {flag: text for flag, text in texts.items() if isinstance(text, str)}
        return command(_loaded(config, flags, pairs), *args, **kwargs)

    return _with_options(with_settings)


def _loaded(config: str | None, flags: dict[str, str], pairs: tuple[str, ...]) -> Loaded[DraySettings]:
    try:
        return load_settings(config, os.environ, flags, pairs)
    except SettingsError as error:
        raise WrongUse(str(error)) from error


def _with_options(command: Callable[..., R]) -> Callable[..., R]:
    pairs = click.option("--set", "pairs", multiple=True, metavar="SECTION.KEY=VALUE", help=_SET_HELP)
    command = pairs(command)
    for flag, field in reversed(_FLAGGED.items()):
        told = f"{field.description} ({field.path})"
        command = click.option(flag, _parameter(field), metavar="VALUE", help=told)(command)
    return click.option(
        "--config", type=click.Path(dir_okay=False), envvar="DRAY_CONFIG", metavar="FILE", help=_CONFIG_HELP
    )(command)


def _parameter(field: Field) -> str:
    return f"{field.section}_{field.key}"
