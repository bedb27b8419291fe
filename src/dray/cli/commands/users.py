"""`dray users`: the users of a cluster, in its metadata store."""

import sys
from getpass import getpass
from typing import Final

import click

from dray.cli.failure import WrongUse
from dray.cli.render.users import users_json, users_text
from dray.cli.settings_options import METADATA_FLAGS, takes_settings
from dray.sasl import ScramMechanism
from dray.server import user_admin
from dray.settings import DraySettings, Loaded

_NAMES: Final = {mechanism.value: mechanism for mechanism in ScramMechanism}
_mechanism_option = click.option(
    "--mechanism",
    "mechanisms",
    type=click.Choice(list(_NAMES)),
    multiple=True,
    help="Store a credential for this mechanism only. May be repeated. PLAIN works with either.",
)


@click.group
def users() -> None:
    """Add, list and delete users, change passwords.

    Works on the metadata store, so no broker has to run and no user has to exist. The password is read from
    the terminal, or from the first line of standard input. What a user may do is decided by ACLs, and by the
    setting security.super_users.

    \b
    Example:
      dray users add alice
    """


@users.command
@click.argument("name")
@_mechanism_option
@takes_settings(METADATA_FLAGS)
def add(loaded: Loaded[DraySettings], name: str, mechanisms: tuple[str, ...]) -> None:
    """Add a user.

    \b
    Examples:
      dray users add alice
      echo "$PASSWORD" | dray users add alice --mechanism SCRAM-SHA-512
    """
    user_admin.add_user(loaded.settings, name, _password(), _chosen(mechanisms))
    click.echo(f"added user {name}")


@users.command
@click.argument("name")
@_mechanism_option
@takes_settings(METADATA_FLAGS)
def passwd(loaded: Loaded[DraySettings], name: str, mechanisms: tuple[str, ...]) -> None:
    """Change the password of a user.

    Connections that are authenticated already stay open.

    \b
    Example:
      dray users passwd alice
    """
    user_admin.set_password(loaded.settings, name, _password(), _chosen(mechanisms))
    click.echo(f"changed the password of user {name}")


@users.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
@takes_settings(METADATA_FLAGS)
def list_users(loaded: Loaded[DraySettings], *, as_json: bool) -> None:
    """List all users and the mechanisms of their credentials.

    \b
    Example:
      dray users list --json | jq -r '.[].name'
    """
    found = user_admin.list_users(loaded.settings)
    click.echo(users_json(found) if as_json else users_text(found), nl=as_json or bool(found))


@users.command
@click.argument("name")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@takes_settings(METADATA_FLAGS)
def delete(loaded: Loaded[DraySettings], name: str, *, yes: bool) -> None:
    """Delete a user.

    Its ACLs stay, and so do connections that are authenticated already.

    \b
    Example:
      dray users delete alice --yes
    """
    if not yes:
        if not sys.stdin.isatty():
            raise WrongUse("deleting a user needs --yes when standard input is not a terminal")
        click.confirm(f"Delete user {name}?", abort=True, err=True)
    user_admin.delete_user(loaded.settings, name)
    click.echo(f"deleted user {name}")


def _password() -> str:
    if sys.stdin.isatty():
        entered = getpass("Password: ")
        if not entered or getpass("Repeat it: ") != entered:
            raise WrongUse("expected the same password twice")
        return entered
    line = sys.stdin.readline().rstrip("\r\n")
    if not line:
        raise WrongUse("expected a password on the first line of standard input")
    return line


def _chosen(names: tuple[str, ...]) -> list[ScramMechanism]:
    return [_NAMES[name] for name in names or tuple(_NAMES)]
