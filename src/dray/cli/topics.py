"""`dray topics`: make, list, describe, alter and delete the topics of a running broker."""

import sys

import click

from dray.cli.client import Cluster, Refused
from dray.cli.client.topic_admin import (
    BROKERS_CHOICE,
    alter_configs,
    create_topic,
    delete_topic,
    grow_topic,
)
from dray.cli.connected import Contact, talks_to_brokers
from dray.cli.failure import WrongUse
from dray.cli.key_values import KeyValue
from dray.cli.topic_pages import DescribedTopic, described, listed, pages, shown_json, shown_list
from dray.wire import ErrorCode

_config_option = click.option(
    "--config", "configs", type=KeyValue(), multiple=True, help="A config of the topic. May be repeated."
)
_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")


@click.group
def topics() -> None:
    """Make, list, describe, alter and delete topics of a running broker.

    \b
    Example:
      dray topics create orders --partitions 3 --config retention.ms=86400000
      dray topics describe orders
    """


@topics.command
@click.argument("name")
@click.option(
    "--partitions", type=click.IntRange(min=1), metavar="N", help="How many; the broker's default otherwise."
)
@_config_option
@click.option("--if-not-exists", is_flag=True, help="A topic that is there already is no failure.")
@talks_to_brokers
def create(
    contact: Contact,
    name: str,
    partitions: int | None,
    configs: tuple[tuple[str, str], ...],
    *,
    if_not_exists: bool,
) -> None:
    """Make a topic.

    \b
    Example:
      dray topics create orders --partitions 3 --config compression.type=zstd
    """

    async def work(cluster: Cluster) -> str:
        try:
            count = await create_topic(cluster, name, partitions or BROKERS_CHOICE, dict(configs))
        except Refused as error:
            if if_not_exists and error.code == ErrorCode.TOPIC_ALREADY_EXISTS:
                return f"topic {name} is there already"
            raise
        return f"made topic {name} with {_partitions(count)}"

    click.echo(contact.run(work))


@topics.command(name="list")
@_json_option
@talks_to_brokers
def list_topics(contact: Contact, *, as_json: bool) -> None:
    """List the topics, with their partitions and ids.

    \b
    Example:
      dray topics list --json | jq -r '.[].name'
    """
    found = contact.run(listed)
    click.echo(shown_json(found) if as_json else shown_list(found), nl=as_json or bool(found))


@topics.command
@click.argument("names", nargs=-1, metavar="[NAME]...")
@_json_option
@talks_to_brokers
def describe(contact: Contact, names: tuple[str, ...], *, as_json: bool) -> None:
    """Show topics: configs that were set, and every partition with its leader and offsets.

    \b
    Example:
      dray topics describe orders
    """

    async def work(cluster: Cluster) -> list[DescribedTopic]:
        return await described(cluster, names)

    found = contact.run(work)
    click.echo(shown_json(found) if as_json else pages(found), nl=as_json or bool(found))


@topics.command
@click.argument("name")
@click.option(
    "--partitions", type=click.IntRange(min=1), metavar="N", help="Add partitions until there are N."
)
@_config_option
@click.option(
    "--delete-config", "gone", multiple=True, metavar="KEY", help="Back to the default. May be repeated."
)
@talks_to_brokers
def alter(
    contact: Contact,
    name: str,
    partitions: int | None,
    configs: tuple[tuple[str, str], ...],
    gone: tuple[str, ...],
) -> None:
    """Add partitions to a topic, or change its configs.

    Keys that were written before may go to other partitions afterwards.

    \b
    Example:
      dray topics alter orders --config retention.ms=3600000 --delete-config compression.type
    """
    if partitions is None and not configs and not gone:
        raise WrongUse("nothing to alter: give --partitions, --config or --delete-config")

    async def work(cluster: Cluster) -> None:
        if configs or gone:
            await alter_configs(cluster, name, dict(configs), gone)
        if partitions is not None:
            await grow_topic(cluster, name, partitions)

    contact.run(work)
    click.echo(f"altered topic {name}")


@topics.command
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--yes", is_flag=True, help="Do not ask.")
@talks_to_brokers
def delete(contact: Contact, names: tuple[str, ...], *, yes: bool) -> None:
    """Delete topics with all their records, after asking.

    \b
    Example:
      dray topics delete orders --yes
    """
    if not yes:
        _confirm(names)

    async def work(cluster: Cluster) -> None:
        for name in dict.fromkeys(names):
            await delete_topic(cluster, name)
            click.echo(f"deleted topic {name}")

    contact.run(work)


def _confirm(names: tuple[str, ...]) -> None:
    if not sys.stdin.isatty():
        raise WrongUse("deleting topics needs --yes when nobody can be asked")
    click.confirm(f"Delete {', '.join(names)} and all records in it?", abort=True, err=True)


def _partitions(count: int) -> str:
    return "1 partition" if count == 1 else f"{count} partitions"
