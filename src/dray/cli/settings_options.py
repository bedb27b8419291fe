"""Options of the commands that need settings: `--config`, `--set`, and flags of single settings."""

import functools
import os
import re
from collections.abc import Callable, Sequence
from typing import Concatenate, Final, ParamSpec, TypeVar

import click

from dray.cli.failure import WrongUse
from dray.settings import DraySettings, Loaded, SettingsError, load_settings, schema_of
from dray.settings.schema import Field

P = ParamSpec("P")
R = TypeVar("R")
Command = Callable[Concatenate[Loaded[DraySettings], P], R]

_FIELDS: Final = {field.flag: field for field in schema_of(DraySettings).fields() if field.flag is not None}
ALL_FLAGS: Final = tuple(_FIELDS)
BROKER_FLAGS: Final = tuple(flag for flag in ALL_FLAGS if flag != "--catalog")
METADATA_FLAGS: Final = ("--data-dir", "--metadata")
STORAGE_FLAGS: Final = ("--data-dir", "--storage")
STORE_FLAGS: Final = ("--data-dir", "--metadata", "--storage")
TABLE_FLAGS: Final = (*STORE_FLAGS, "--catalog")

_METAVARS: Final = {
    "--broker-id": "ID",
    "--zone": "NAME",
    "--data-dir": "DIR",
    "--listen": "HOST:PORT|NAME://HOST:PORT,…",
    "--advertise": "HOST:PORT|NAME://HOST:PORT,…",
    "--http": "HOST:PORT",
    "--metadata": "URL",
    "--storage": "URL",
    "--catalog": "URL",
}
_CONFIG_HELP: Final = "Settings file (also DRAY_CONFIG)."
_SET_HELP: Final = "Override any setting listed in docs/SETTINGS.md. May be repeated."
_KAFKA_KEY: Final = re.compile(r" \(Kafka: [^)]*\)")


def takes_settings(
    flags: Sequence[str] = ALL_FLAGS, *, required: Sequence[str] = ()
) -> Callable[[Command[P, R]], Callable[..., R]]:
    """Add the options to a command, with these flags, and call it with the effective settings first.

    The command itself checks that the `required` ones are set; their defaults are not shown.
    """
    fields = {flag: _FIELDS[flag] for flag in flags}

    def decorate(command: Command[P, R]) -> Callable[..., R]:
        @functools.wraps(command)
        def with_settings(config: str | None, pairs: tuple[str, ...], *args: P.args, **kwargs: P.kwargs) -> R:
            texts = {flag: kwargs.pop(_parameter(field)) for flag, field in fields.items()}
            given = {flag: str(value) for flag, value in texts.items() if value is not None}
            return command(_loaded(config, given, pairs), *args, **kwargs)

        return _with_options(with_settings, fields, required)

    return decorate


def _loaded(config: str | None, flags: dict[str, str], pairs: tuple[str, ...]) -> Loaded[DraySettings]:
    try:
        return load_settings(config, os.environ, flags, pairs)
    except SettingsError as error:
        raise WrongUse(str(error)) from error


def _with_options(
    command: Callable[..., R], fields: dict[str, Field], required: Sequence[str]
) -> Callable[..., R]:
    pairs = click.option("--set", "pairs", multiple=True, metavar="SECTION.KEY=VALUE", help=_SET_HELP)
    command = pairs(command)
    for flag, field in reversed(fields.items()):
        name = _parameter(field)
        default = "" if flag in required or field.default is None else f"  [default: {field.default}]"
        description = f"{_KAFKA_KEY.sub('', field.description)} ({field.path}){default}"
        if field.kind == "boolean":
            option = click.option(flag, name, is_flag=True, default=None, help=description)
        else:
            option = click.option(flag, name, metavar=_METAVARS.get(flag, "VALUE"), help=description)
        command = option(command)
    return click.option(
        "--config", type=click.Path(dir_okay=False), envvar="DRAY_CONFIG", metavar="FILE", help=_CONFIG_HELP
    )(command)


def _parameter(field: Field) -> str:
    return f"{field.section}_{field.key}"
