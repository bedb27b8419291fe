"""`dray acls`: the access control lists of a cluster, in its metadata store."""

import functools
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeVar

import click

from dray.acls import (
    CLUSTER_NAME,
    AclFilter,
    BindingCodes,
    EntryFilter,
    Operation,
    PatternFilter,
    PatternType,
    Permission,
    ResourceType,
)
from dray.cli.failure import WrongUse
from dray.cli.render.acls import acls_json, acls_text
from dray.cli.settings_options import METADATA_FLAGS, takes_settings
from dray.server import acl_admin
from dray.settings import DraySettings, Loaded

R = TypeVar("R")
_OPERATIONS: Final = {
    one.name.lower().replace("_", "-"): one for one in Operation if one is not Operation.ANY
}


class Resources(NamedTuple):
    """The resources that a command is about."""

    names: tuple[tuple[ResourceType, str], ...]
    pattern_type: PatternType


def _takes_resources(command: Callable[..., R]) -> Callable[..., R]:
    """Add the options that name resources, and pass them to the command as one argument."""

    @functools.wraps(command)
    def with_resources(
        loaded: Loaded[DraySettings],
        topics: tuple[str, ...],
        groups: tuple[str, ...],
        transactional_ids: tuple[str, ...],
        *,
        cluster: bool,
        prefix: bool,
        **options: object,
    ) -> R:
        names = (
            *((ResourceType.TOPIC, name) for name in topics),
            *((ResourceType.GROUP, name) for name in groups),
            *((ResourceType.TRANSACTIONAL_ID, name) for name in transactional_ids),
            *(((ResourceType.CLUSTER, CLUSTER_NAME),) if cluster else ()),
        )
        pattern_type = PatternType.PREFIXED if prefix else PatternType.LITERAL
        return command(loaded, Resources(names, pattern_type), **options)

    for option in reversed(
        (
            click.option(
                "--topic", "topics", multiple=True, metavar="NAME", help="A topic; * is all of them."
            ),
            click.option(
                "--group", "groups", multiple=True, metavar="NAME", help="A group; * is all of them."
            ),
            click.option("--transactional-id", "transactional_ids", multiple=True, metavar="ID"),
            click.option("--cluster", is_flag=True, help="The cluster itself."),
            click.option("--prefix", is_flag=True, help="The names are prefixes."),
        )
    ):
        with_resources = option(with_resources)
    return with_resources


@click.group
def acls() -> None:
    """Add, list and remove ACLs.

    Works on the metadata store, so no broker has to run. They take effect on brokers with
    security.authorizer_enable; Kafka's tool kafka-acls does the same through a broker.

    \b
    Example:
      dray acls add User:alice read,describe --topic orders
    """


@acls.command
@click.argument("principal")
@click.argument("operations")
@click.option("--host", default="*", show_default=True, metavar="ADDRESS", help="From this address only.")
@click.option("--deny", is_flag=True, help="Deny instead of allow; denials win.")
@takes_settings(METADATA_FLAGS)
@_takes_resources
def add(
    loaded: Loaded[DraySettings],
    resources: Resources,
    principal: str,
    operations: str,
    host: str,
    *,
    deny: bool,
) -> None:
    """Allow or deny a principal OPERATIONS on resources.

    PRINCIPAL is User:NAME, or User:* for all. OPERATIONS are separated by commas: all, read, write, create,
    delete, alter, describe, cluster-action, describe-configs, alter-configs, idempotent-write.

    \b
    Examples:
      dray acls add User:alice write --topic orders
      dray acls add User:alice read --topic orders --group billing
      dray acls add User:bob all --topic logs- --prefix
    """
    if not resources.names:
        raise WrongUse("expected a resource: give --topic, --group, --transactional-id or --cluster")
    permission = Permission.DENY if deny else Permission.ALLOW
    wanted = [
        BindingCodes(kind, name, _pattern_type(kind, resources), principal, host, operation, permission)
        for kind, name in resources.names
        for operation in _parsed(operations)
    ]
    click.echo(acls_text(acl_admin.add_acls(loaded.settings, wanted)))


@acls.command(name="list")
@click.option("--principal", metavar="PRINCIPAL", help="Those of a principal only.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
@takes_settings(METADATA_FLAGS)
def list_acls(loaded: Loaded[DraySettings], principal: str | None, *, as_json: bool) -> None:
    """List the ACLs of the cluster.

    \b
    Example:
      dray acls list --principal User:alice
    """
    found = acl_admin.list_acls(loaded.settings, AclFilter(entry=EntryFilter(principal)))
    click.echo(acls_json(found) if as_json else acls_text(found), nl=as_json or bool(found))


@acls.command
@click.argument("principal")
@click.argument("operations", required=False)
@click.option("--host", metavar="ADDRESS", help="Those for this address only.")
@takes_settings(METADATA_FLAGS)
@_takes_resources
def remove(
    loaded: Loaded[DraySettings],
    resources: Resources,
    principal: str,
    operations: str | None,
    host: str | None,
) -> None:
    """Remove ACLs of a principal, whether they allow or deny.

    Without OPERATIONS those of all, and without a resource those on all. Prints what was removed.

    \b
    Examples:
      dray acls remove User:alice read --topic orders
      dray acls remove User:alice
    """
    wanted = [
        AclFilter(pattern, EntryFilter(principal, host, operation))
        for pattern in _patterns(resources)
        for operation in ([Operation.ANY] if operations is None else _parsed(operations))
    ]
    removed = acl_admin.remove_acls(loaded.settings, wanted)
    click.echo(acls_text(removed) if removed else "no ACL matches")


def _patterns(resources: Resources) -> Iterator[PatternFilter]:
    if not resources.names:
        yield PatternFilter()
    for kind, name in resources.names:
        yield PatternFilter(kind, name, _pattern_type(kind, resources))


def _pattern_type(kind: ResourceType, resources: Resources) -> PatternType:
    return PatternType.LITERAL if kind is ResourceType.CLUSTER else resources.pattern_type


def _parsed(text: str) -> list[Operation]:
    names = [name.strip().lower().replace("_", "-") for name in text.split(",")]
    unknown = [name for name in names if name not in _OPERATIONS]
    if unknown:
        raise WrongUse(f"unknown operation '{unknown[0]}'; there are: {', '.join(_OPERATIONS)}")
    return [_OPERATIONS[name] for name in dict.fromkeys(names)]
