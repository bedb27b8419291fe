"""`dray version`: the versions of Dray and its dependencies."""

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
    """Show the versions of Dray and its dependencies."""
    if as_json:
        click.echo(json.dumps(_versions(), indent=2))
        return
    for name, number in _versions().items():
        click.echo(f"{name} {number}")


def _versions() -> dict[str, str]:
    """Return versions by name, Dray first. SQLite is the one in apsw, not Python's."""
    return {
        "dray": __version__,
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        **{name: _installed(name) for name in _requirements()},
    }


def _requirements() -> list[str]:
    """Return the packages that the installed Dray requires, without those of extras."""
    required = [one for one in metadata.requires("dray") or [] if "extra ==" not in one]
    return sorted(re.split(r"[^A-Za-z0-9._-]", one, maxsplit=1)[0] for one in required)


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "missing"
