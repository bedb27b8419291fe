"""`dray groups`: list, describe and delete consumer groups of a running broker, and reset their offsets."""

import sys
from collections.abc import Mapping
from typing import Final

import click

from dray.cli.client import ClientError, Cluster
from dray.cli.client.group_admin import delete_group
from dray.cli.connected import Contact, talks_to_brokers
from dray.cli.failure import Failure, WrongUse
from dray.cli.group_pages import (
    DescribedGroup,
    described,
    list_json,
    list_text,
    listed,
    pages,
    pages_json,
)
from dray.cli.offset_plan import Kind, PlannedOffset, Target
from dray.cli.offset_reset import Reset, carry_out, plan_json, plan_reset, shown_plan
from dray.cli.starting_points import parse_starting_point

_TARGETS: Final[Mapping[str, Kind]] = {
    "to_earliest": "earliest",
    "to_latest": "latest",
    "to_offset": "offset",
    "to_timestamp": "timestamp",
    "shift_by": "shift",
}
_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")


@click.group
def groups() -> None:
    """List, describe and delete consumer groups of a running broker, and reset their offsets.

    \b
    Example:
      dray groups describe billing
      dray groups reset-offsets billing --topic orders --to-earliest
    """


@groups.command(name="list")
@_json_option
@talks_to_brokers
def list_groups(contact: Contact, *, as_json: bool) -> None:
    """List the groups, with their protocols and states.

    \b
    Example:
      dray groups list --json | jq -r '.[].group'
    """
    found = contact.run(listed)
    click.echo(list_json(found) if as_json else list_text(found), nl=as_json or bool(found))


@groups.command
@click.argument("names", nargs=-1, metavar="[GROUP]...")
@_json_option
@talks_to_brokers
def describe(contact: Contact, names: tuple[str, ...], *, as_json: bool) -> None:
    """Show groups: their members, and how far they have come in every partition.

    The lag of a partition is the number of records behind the committed offset.

    \b
    Example:
      dray groups describe billing
    """

    async def work(cluster: Cluster) -> list[DescribedGroup]:
        return await described(cluster, tuple(dict.fromkeys(names)))

    found = contact.run(work)
    click.echo(pages_json(found) if as_json else pages(found), nl=as_json or bool(found))


@groups.command
@click.argument("names", nargs=-1, required=True, metavar="GROUP...")
@click.option("--yes", is_flag=True, help="Do not ask.")
@talks_to_brokers
def delete(contact: Contact, names: tuple[str, ...], *, yes: bool) -> None:
    """Delete groups without members, with their committed offsets, after asking.

    Goes on when one cannot be deleted, and then exits with 1.

    \b
    Example:
      dray groups delete billing --yes
    """
    if not yes:
        _confirm(names)

    async def work(cluster: Cluster) -> list[str]:
        failures = []
        for name in dict.fromkeys(names):
            try:
                await delete_group(cluster, name)
            except ClientError as error:
                failures.append(str(error))
            else:
                click.echo(f"deleted group {name}")
        return failures

    failures = contact.run(work)
    if failures:
        raise Failure("\n".join(failures))


class _Instant(click.ParamType[int]):
    """A point in time, in milliseconds."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            point = parse_starting_point(str(value))
        except ValueError:
            point = None
        if point is None or point.kind != "time":
            self.fail(
                f"expected a time such as 2026-01-31T08:00Z, or @MILLISECONDS, got {value!r}", param, ctx
            )
        return point.number


@groups.command(name="reset-offsets")
@click.argument("group")
@click.option("--to-earliest", is_flag=True, help="To the beginning of each partition.")
@click.option("--to-latest", is_flag=True, help="To the end of each partition: skip what is there.")
@click.option("--to-offset", type=click.IntRange(min=0), metavar="OFFSET", help="To this offset.")
@click.option(
    "--to-timestamp",
    type=_Instant(),
    metavar="TIME",
    help="To the first record that is not older: 2026-01-31T08:00Z, or @MILLISECONDS.",
)
@click.option("--shift-by", type=int, metavar="N", help="N records on, or back if N is negative.")
@click.option(
    "--topic", "topics", multiple=True, help="A topic; else all that the group committed. May be repeated."
)
@click.option(
    "--partition",
    "partitions",
    type=click.IntRange(min=0),
    multiple=True,
    metavar="N",
    help="A partition of the one topic; else all. May be repeated.",
)
@click.option("--execute", is_flag=True, help="Do it; else it is only shown what would be done.")
@_json_option
@talks_to_brokers
def reset_offsets(
    contact: Contact,
    /,
    group: str,
    topics: tuple[str, ...],
    partitions: tuple[int, ...],
    *,
    execute: bool,
    as_json: bool,
    **where: int | bool | None,
) -> None:
    """Set where a group without members goes on reading.

    Shows what would be done, and does it with --execute. An offset outside the log is moved to its edge. A
    group that does not exist yet is made, if topics are named.

    \b
    Example:
      dray groups reset-offsets billing --topic orders --to-timestamp 2026-01-31T08:00Z
      dray groups reset-offsets billing --shift-by -100 --execute
    """
    if partitions and len(topics) != 1:
        raise WrongUse("--partition needs just one --topic")
    reset = Reset(group, _target(where), tuple(dict.fromkeys(topics)), tuple(dict.fromkeys(partitions)))

    async def work(cluster: Cluster) -> list[PlannedOffset]:
        plan = await plan_reset(cluster, reset)
        if execute:
            await carry_out(cluster, group, plan)
        return plan

    plan = contact.run(work)
    if as_json:
        click.echo(plan_json(plan))
        return
    click.echo(shown_plan(plan))
    click.echo(_summary(group, plan, execute=execute))


def _target(where: Mapping[str, int | bool | None]) -> Target:
    """Read the one option that says where to."""
    given = {name: value for name, value in where.items() if value is not None and value is not False}
    if len(given) != 1:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in _TARGETS)
        raise WrongUse(f"say where to with one of {options}")
    ((name, value),) = given.items()
    return Target(_TARGETS[name]) if value is True else Target(_TARGETS[name], value)


def _summary(group: str, plan: list[PlannedOffset], *, execute: bool) -> str:
    moved = sum(one.moves for one in plan)
    if not moved:
        return f"nothing to set for group {group}"
    offsets = "1 offset" if moved == 1 else f"{moved} offsets"
    if execute:
        return f"set {offsets} of group {group}"
    return f"would set {offsets} of group {group}; --execute does it"


def _confirm(names: tuple[str, ...]) -> None:
    if not sys.stdin.isatty():
        raise WrongUse("deleting groups needs --yes when nobody can be asked")
    click.confirm(f"Delete {', '.join(names)} and all committed offsets of it?", abort=True, err=True)
