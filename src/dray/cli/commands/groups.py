"""`dray groups`: list, describe and delete consumer groups of a running broker, and reset their offsets."""

import sys
from collections.abc import Mapping
from typing import Final

import click

from dray.cli.broker_options import Connect, connects
from dray.cli.failure import Failure, WrongUse
from dray.cli.render.groups import details_json, details_text, list_json, list_text, plan_json, plan_text
from dray.cli.terminal.positions import TIME
from dray.client import ClientError
from dray.client import groups as client
from dray.client.offset_reset import Kind, PlannedOffset, Reset, Target, apply_reset, plan_reset

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
    Examples:
      dray groups describe billing
      dray groups reset-offsets billing --topic orders --to-earliest
    """


@groups.command(name="list")
@_json_option
@connects
def list_groups(connect: Connect, *, as_json: bool) -> None:
    """List consumer groups, their protocols and states.

    \b
    Example:
      dray groups list --json | jq -r '.[].group'
    """
    found = client.list_groups(connect())
    click.echo(list_json(found) if as_json else list_text(found), nl=as_json or bool(found))


@groups.command
@click.argument("names", nargs=-1, metavar="[GROUP]...")
@_json_option
@connects
def describe(connect: Connect, names: tuple[str, ...], *, as_json: bool) -> None:
    """Show groups: their members, committed offsets and lag.

    The lag of a partition is the number of records after the committed offset.

    \b
    Example:
      dray groups describe billing
    """
    found = client.describe_groups(connect(), tuple(dict.fromkeys(names)))
    click.echo(details_json(found) if as_json else details_text(found), nl=as_json or bool(found))


@groups.command
@click.argument("names", nargs=-1, required=True, metavar="GROUP...")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@connects
def delete(connect: Connect, names: tuple[str, ...], *, yes: bool) -> None:
    """Delete inactive groups and their offsets.

    Asks for confirmation first. A group that cannot be deleted does not stop the others; the exit code is
    then 1.

    \b
    Example:
      dray groups delete billing --yes
    """
    if not yes:
        _confirm(names)

    failures = []
    admin = connect()
    for name in dict.fromkeys(names):
        try:
            client.delete_group(admin, name)
        except ClientError as error:
            failures.append(str(error))
        else:
            click.echo(f"deleted group {name}")
    if failures:
        raise Failure("\n".join(failures))


@groups.command(name="reset-offsets")
@click.argument("group")
@click.option("--to-earliest", is_flag=True, help="To the start of each partition.")
@click.option("--to-latest", is_flag=True, help="To the end of each partition: skip all existing records.")
@click.option("--to-offset", type=click.IntRange(min=0), metavar="OFFSET", help="To this offset.")
@click.option(
    "--to-timestamp",
    type=TIME,
    metavar="TIME",
    help="To the first record at or after TIME: 2026-01-31T08:00Z, or @MILLISECONDS.",
)
@click.option("--shift-by", type=int, metavar="N", help="Forward by N offsets; backward if N is negative.")
@click.option(
    "--topic", "topics", multiple=True, help="A topic (default: all with committed offsets). May be repeated."
)
@click.option(
    "--partition",
    "partitions",
    type=click.IntRange(min=0),
    multiple=True,
    metavar="N",
    help="A partition of the one topic (default: all). May be repeated.",
)
@click.option("--execute", is_flag=True, help="Commit the new offsets; without it they are only printed.")
@_json_option
@connects
def reset_offsets(
    connect: Connect,
    /,
    group: str,
    topics: tuple[str, ...],
    partitions: tuple[int, ...],
    *,
    execute: bool,
    as_json: bool,
    **targets: int | bool | None,
) -> None:
    """Reset the committed offsets of an inactive group.

    Prints the changes, and commits them with --execute. An offset outside the log is moved to its start or
    end. A group that does not exist is created if topics are named.

    \b
    Examples:
      dray groups reset-offsets billing --topic orders --to-timestamp 2026-01-31T08:00Z
      dray groups reset-offsets billing --shift-by -100 --execute
    """
    if partitions and len(topics) != 1:
        raise WrongUse("--partition needs exactly one --topic")
    reset = Reset(group, _target(targets), tuple(dict.fromkeys(topics)), tuple(dict.fromkeys(partitions)))

    admin = connect()
    plan = plan_reset(admin, reset)
    if execute:
        apply_reset(admin, group, plan)
    if as_json:
        click.echo(plan_json(plan))
        return
    click.echo(plan_text(plan))
    click.echo(_summary(group, plan, execute=execute))


def _target(targets: Mapping[str, int | bool | None]) -> Target:
    """Return the target of the one option that names one."""
    given = {name: value for name, value in targets.items() if value is not None and value is not False}
    if len(given) != 1:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in _TARGETS)
        raise WrongUse(f"name a target with one of {options}")
    ((name, value),) = given.items()
    return Target(_TARGETS[name]) if value is True else Target(_TARGETS[name], value)


def _summary(group: str, plan: list[PlannedOffset], *, execute: bool) -> str:
    moved = sum(one.moves for one in plan)
    if not moved:
        return f"nothing to change in group {group}"
    offsets = "1 offset" if moved == 1 else f"{moved} offsets"
    if execute:
        return f"reset {offsets} of group {group}"
    return f"would reset {offsets} of group {group}; run again with --execute"


def _confirm(names: tuple[str, ...]) -> None:
    if not sys.stdin.isatty():
        raise WrongUse("deleting groups needs --yes when standard input is not a terminal")
    click.confirm(f"Delete {', '.join(names)} and all committed offsets?", abort=True, err=True)
