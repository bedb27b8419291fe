"""`dray config`: the effective settings."""

import json

import click

from dray.cli.settings_options import takes_settings
from dray.settings import DraySettings, Loaded
from dray.settings.page import as_json as json_of
from dray.settings.page import as_yaml


@click.group
def config() -> None:
    """Show and check the effective settings.

    \b
    Examples:
      dray config show --config dray.yaml
      dray config check --set log.linger_ms=3
    """


@config.command
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object: sections, keys, values and origins."
)
@takes_settings()
def show(loaded: Loaded[DraySettings], *, as_json: bool) -> None:
    """Print every setting and its origin.

    Secrets are masked. The output is itself a valid settings file.
    """
    click.echo(json.dumps(json_of(loaded), indent=2) if as_json else as_yaml(loaded), nl=as_json)


@config.command
@takes_settings()
def check(loaded: Loaded[DraySettings]) -> None:
    """Validate the settings, without opening or starting anything."""
    for path in loaded.exposed:
        click.echo(f"warning: every user of this machine can read the secret in {path}", err=True)
    count = sum(1 for field in loaded.schema.fields() if loaded.origin(field).kind != "default")
    click.echo(f"settings are valid ({count} set, the others default)")
