"""`dray config`: the settings in effect."""

import json

import click

from dray.cli.options import takes_settings
from dray.cli.settings import DraySettings, Loaded
from dray.cli.settings.page import as_json as json_of
from dray.cli.settings.page import as_yaml


@click.group
def config() -> None:
    """Show and check the settings in effect."""


@config.command
@takes_settings
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object: section, key, value and origin."
)
def show(loaded: Loaded[DraySettings], *, as_json: bool) -> None:
    """Print the effective value of every setting and where it came from, secrets masked.

    What is printed is a settings file itself.
    """
    click.echo(json.dumps(json_of(loaded), indent=2) if as_json else as_yaml(loaded), nl=as_json)


@config.command
@takes_settings
def check(loaded: Loaded[DraySettings]) -> None:
    """Say whether the settings can be used; nothing is opened or started."""
    given = sum(1 for field in loaded.schema.fields() if loaded.origin(field).kind != "default")
    click.echo(f"the settings are good: {given} given, all others at their defaults")
