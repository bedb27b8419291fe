"""`dray version`."""

import json
import platform
import re
from importlib import metadata

import apsw
import click

from dray import __version__


@click.command
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def version(*, as_json: bool) -> None:
    """Show the versions of Dray and of what it stands on."""
    if as_json:
        click.echo(json.dumps(_versions(), indent=2))
        return
    for name, number in _versions().items():
        click.echo(f"{name} {number}")


def _versions() -> dict[str, str]:
    """Return name → version, Dray first. SQLite is the one inside apsw, not the one inside Python."""
    return {
        "dray": __version__,
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        **{name: _installed(name) for name in _parts()},
    }


def _parts() -> list[str]:
    """Return the packages Dray needs, as it was installed with; those of extras left out."""
    needed = [one for one in metadata.requires("dray") or [] if "extra ==" not in one]
    return sorted(re.split(r"[^A-Za-z0-9._-]", one, maxsplit=1)[0] for one in needed)


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "missing"
