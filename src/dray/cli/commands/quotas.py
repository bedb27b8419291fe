"""`dray quotas`: the quotas of clients, in the metadata store of their cluster."""

import functools
from collections.abc import Callable
from typing import Final, TypeVar

import click

from dray.cli.failure import WrongUse
from dray.cli.render.quotas import entity_text, quotas_json, quotas_text
from dray.cli.settings_options import METADATA_FLAGS, takes_settings
from dray.cli.terminal.params import Parsed
from dray.quotas import CLIENT_ID, IP, USER, Entity, QuotaKey
from dray.server import quota_admin
from dray.settings import DraySettings, Loaded
from dray.settings.quantities import read

R = TypeVar("R")
_RATES: Final = {
    QuotaKey.PRODUCER_BYTE_RATE: "Bytes a second that it may produce.",
    QuotaKey.CONSUMER_BYTE_RATE: "Bytes a second that it may fetch.",
    QuotaKey.REQUEST_PERCENTAGE: "Percentage of the time of a broker's event loop.",
    QuotaKey.CONTROLLER_MUTATION_RATE: "Partitions a second that it may create or delete.",
    QuotaKey.CONNECTION_CREATION_RATE: "Connections a second; of an --ip only.",
}


def _takes_entity(command: Callable[..., R]) -> Callable[..., R]:
    """Add the options that name an entity, and pass it to the command as one argument."""

    @functools.wraps(command)
    def with_entity(
        loaded: Loaded[DraySettings],
        user: str | None,
        client_id: str | None,
        ip: str | None,
        *,
        default_user: bool,
        default_client_id: bool,
        default_ip: bool,
        **options: object,
    ) -> R:
        names = {
            kind: name
            for kind, name, is_default in (
                (USER, user, default_user),
                (CLIENT_ID, client_id, default_client_id),
                (IP, ip, default_ip),
            )
            if name is not None or is_default
        }
        if not names:
            raise WrongUse("expected a client: give --user, --client-id, both, or --ip")
        return command(loaded, Entity.of(names), **options)

    for option in reversed(
        (
            click.option("--user", metavar="NAME", help="A user."),
            click.option("--default-user", is_flag=True, help="All users without quotas of their own."),
            click.option("--client-id", metavar="ID", help="A client id; with --user, of that user."),
            click.option("--default-client-id", is_flag=True, help="All other client ids."),
            click.option("--ip", metavar="ADDRESS", help="An IP address."),
            click.option("--default-ip", is_flag=True, help="All other IP addresses."),
        )
    ):
        with_entity = option(with_entity)
    return with_entity


def _rate(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return read(text, "bytes")


def _option(key: QuotaKey) -> str:
    return f"--{key.replace('_', '-')}"


@click.group
def quotas() -> None:
    """Set, list and remove quotas of clients.

    Works on the metadata store, so no broker has to run; Kafka's tool kafka-configs does the same through a
    broker. As in Kafka, every broker applies a quota by itself.

    \b
    Example:
      dray quotas set --user alice --producer-byte-rate 10MiB
    """


def _takes_rates(command: Callable[..., R]) -> Callable[..., R]:
    for key, what in reversed(_RATES.items()):
        kind = Parsed("N", _rate)
        command = click.option(_option(key), key.value, type=kind, metavar="N", help=what)(command)
    return command


@quotas.command(name="set")
@_takes_rates
@takes_settings(METADATA_FLAGS)
@_takes_entity
def set_quotas(loaded: Loaded[DraySettings], entity: Entity, **rates: float | None) -> None:
    """Set limits of a client; others stay.

    \b
    Examples:
      dray quotas set --user alice --client-id etl --request-percentage 50
      dray quotas set --default-user --consumer-byte-rate 10MiB
    """
    limits = {key: rate for key, rate in rates.items() if rate is not None}
    if not limits:
        raise WrongUse(f"expected a limit: give {', '.join(_option(key) for key in _RATES)}")
    quota_admin.set_quotas(loaded.settings, entity, limits)
    click.echo(f"set quotas of {entity_text(entity)}")


@quotas.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
@takes_settings(METADATA_FLAGS)
def list_quotas(loaded: Loaded[DraySettings], *, as_json: bool) -> None:
    """List all quotas.

    \b
    Example:
      dray quotas list
    """
    found = quota_admin.list_quotas(loaded.settings)
    click.echo(quotas_json(found) if as_json else quotas_text(found), nl=as_json or bool(found))


def _takes_keys(command: Callable[..., R]) -> Callable[..., R]:
    for key in reversed(_RATES):
        command = click.option(_option(key), key.value, is_flag=True, help="Remove this limit.")(command)
    return command


@quotas.command
@_takes_keys
@takes_settings(METADATA_FLAGS)
@_takes_entity
def remove(loaded: Loaded[DraySettings], entity: Entity, **chosen: bool) -> None:
    """Remove limits of a client, without options all of them.

    \b
    Example:
      dray quotas remove --user alice --producer-byte-rate
    """
    keys = [key for key, is_chosen in chosen.items() if is_chosen] or [key.value for key in _RATES]
    quota_admin.set_quotas(loaded.settings, entity, dict.fromkeys(keys))
    click.echo(f"removed quotas of {entity_text(entity)}")
