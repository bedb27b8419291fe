"""`dray topics`: create, list, describe, alter and delete the topics of a running broker."""

import sys
from typing import Final

import click

from dray.cli.broker_options import Connect, connects
from dray.cli.failure import Failure, WrongUse
from dray.cli.render.topics import details_json, details_text, list_json, list_text
from dray.cli.terminal.params import KEY_VALUE
from dray.client import ClientError, TopicExists
from dray.client import topics as client

_PARTITIONS: Final = click.IntRange(1, client.PARTITIONS_MAX)
_config_option = click.option(
    "--config", "configs", type=KEY_VALUE, multiple=True, help="Set a config of the topic. May be repeated."
)
_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")


@click.group
def topics() -> None:
    """Create, list, describe, alter and delete the topics of a running broker.

    \b
    Examples:
      dray topics create orders --partitions 3 --config retention.ms=86400000
      dray topics describe orders
    """


@topics.command
@click.argument("name")
@click.option(
    "--partitions",
    type=_PARTITIONS,
    metavar="N",
    help="Number of partitions (default: the broker's).",
)
@_config_option
@click.option("--if-not-exists", is_flag=True, help="Do not fail if the topic already exists.")
@connects
def create(
    connect: Connect,
    name: str,
    partitions: int | None,
    configs: tuple[tuple[str, str], ...],
    *,
    if_not_exists: bool,
) -> None:
    """Create a topic.

    \b
    Example:
      dray topics create orders --partitions 3 --config compression.type=zstd
    """
    try:
        count = client.create_topic(connect(), name, partitions or client.BROKER_DEFAULT, dict(configs))
    except TopicExists:
        if not if_not_exists:
            raise
        click.echo(f"topic {name} already exists")
    else:
        click.echo(f"created topic {name} with {_partitions(count)}")


@topics.command(name="list")
@_json_option
@connects
def list_topics(connect: Connect, *, as_json: bool) -> None:
    """List all topics, their partition counts and ids.

    \b
    Example:
      dray topics list --json | jq -r '.[].name'
    """
    found = client.list_topics(connect())
    click.echo(list_json(found) if as_json else list_text(found), nl=as_json or bool(found))


@topics.command
@click.argument("names", nargs=-1, metavar="[NAME]...")
@_json_option
@connects
def describe(connect: Connect, names: tuple[str, ...], *, as_json: bool) -> None:
    """Show configs, leaders and offsets of topics.

    Only configs that were set on the topic are listed.

    \b
    Example:
      dray topics describe orders
    """
    found = client.describe_topics(connect(), names)
    click.echo(details_json(found) if as_json else details_text(found), nl=as_json or bool(found))


@topics.command
@click.argument("name")
@click.option("--partitions", type=_PARTITIONS, metavar="N", help="Add partitions until there are N.")
@_config_option
@click.option(
    "--delete-config",
    "deleted",
    multiple=True,
    metavar="KEY",
    help="Reset a config to its default. May be repeated.",
)
@connects
def alter(
    connect: Connect,
    name: str,
    partitions: int | None,
    configs: tuple[tuple[str, str], ...],
    deleted: tuple[str, ...],
) -> None:
    """Add partitions to a topic, or change its configs.

    After adding partitions, existing keys may go to different partitions.

    \b
    Example:
      dray topics alter orders --config retention.ms=3600000 --delete-config compression.type
    """
    if partitions is None and not configs and not deleted:
        raise WrongUse("nothing to alter: give --partitions, --config or --delete-config")

    admin = connect()
    if deleted:
        client.require_known_configs(admin, name, deleted)
    if configs or deleted:
        client.alter_configs(admin, name, dict(configs), deleted)
    if partitions is not None:
        client.grow_topic(admin, name, partitions)
    click.echo(f"altered topic {name}")


@topics.command
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@connects
def delete(connect: Connect, names: tuple[str, ...], *, yes: bool) -> None:
    """Delete topics and all their records.

    Asks for confirmation first. A topic that cannot be deleted does not stop the others; the exit code is
    then 1.

    \b
    Example:
      dray topics delete orders --yes
    """
    if not yes:
        _confirm(names)

    failures = []
    admin = connect()
    for name in dict.fromkeys(names):
        try:
            client.delete_topic(admin, name)
        except ClientError as error:
            failures.append(str(error))
        else:
            click.echo(f"deleted topic {name}")
    if failures:
        raise Failure("\n".join(failures))


def _confirm(names: tuple[str, ...]) -> None:
    if not sys.stdin.isatty():
        raise WrongUse("deleting topics needs --yes when standard input is not a terminal")
    click.confirm(f"Delete {', '.join(names)} and all records?", abort=True, err=True)


def _partitions(count: int) -> str:
    return "1 partition" if count == 1 else f"{count} partitions"
