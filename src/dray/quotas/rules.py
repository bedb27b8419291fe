"""Validation of quotas, with Kafka's order of checks and its messages."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from ipaddress import ip_address
from typing import Final

from dray.quotas.entities import CLIENT_ID, IP, USER, Entity

_LONG_MAX: Final = 2.0**63
_INT_MAX: Final = 2.0**31 - 1
_FRACTION_MAX: Final = 1e-6


class InvalidQuota(ValueError):
    """A change of quotas is refused; the message says why."""


class QuotaKey(StrEnum):
    """A limit that can be set for an entity."""

    PRODUCER_BYTE_RATE = "producer_byte_rate"
    CONSUMER_BYTE_RATE = "consumer_byte_rate"
    REQUEST_PERCENTAGE = "request_percentage"
    CONTROLLER_MUTATION_RATE = "controller_mutation_rate"
    CONNECTION_CREATION_RATE = "connection_creation_rate"


_OF_CLIENTS: Final[dict[str, str]] = {
    QuotaKey.PRODUCER_BYTE_RATE: "LONG",
    QuotaKey.CONSUMER_BYTE_RATE: "LONG",
    QuotaKey.REQUEST_PERCENTAGE: "DOUBLE",
    QuotaKey.CONTROLLER_MUTATION_RATE: "DOUBLE",
}
"""Keys of users and client ids, with the Java type that their values must fit."""
_OF_IPS: Final[dict[str, str]] = {QuotaKey.CONNECTION_CREATION_RATE: "INT"}
_LARGEST: Final = {"LONG": _LONG_MAX, "INT": _INT_MAX}


def altered_limits(
    entity: Entity, limits: Mapping[str, float], changes: Iterable[tuple[str, float | None]]
) -> dict[str, float]:
    """Return the limits of an entity after `changes`, of which None removes a limit.

    Raises `InvalidQuota`. As in Kafka, the key of a limit to remove is not checked.
    """
    wanted: dict[str, float | None] = {}
    changes = list(changes)
    wanted.update(changes)
    if len(wanted) < len(changes):  # Kafka has a message for this too, and then replaces it by this one
        raise InvalidQuota(f"Ignoring duplicate entity {entity}")
    _check_entity(entity)
    kinds = _kinds_of_keys(entity)
    altered = dict(limits)
    for key, value in wanted.items():
        if value is None:
            altered.pop(key, None)
        else:
            _check_value(kinds, key, value)
            altered[key] = value
    return altered


def _check_entity(entity: Entity) -> None:
    if not entity.parts:
        raise InvalidQuota("Invalid empty client quota entity")
    for kind, name in entity.parts:
        if kind not in (USER, CLIENT_ID, IP):
            raise InvalidQuota(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise InvalidQuota(f"Empty {kind} not supported")


def _kinds_of_keys(entity: Entity) -> Mapping[str, str]:
    names = entity.names
    if IP not in names:
        return _OF_CLIENTS
    if len(names) > 1:
        raise InvalidQuota(
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"
        )
    ip = names[IP]
    if ip is not None and not _is_address(ip):
        raise InvalidQuota(f"{ip} is not a valid IP or resolvable host.")
    return _OF_IPS


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _check_value(kinds: Mapping[str, str], key: str, value: float) -> None:
    kind = kinds.get(key)
    if kind is None:
        raise InvalidQuota(f"Invalid configuration key {key}")
    if not value > 0:  # NaN is not either
        raise InvalidQuota(f"Quota {key} must be greater than 0")
    if kind == "DOUBLE":
        return
    if value > _LARGEST[kind]:
        article = "an" if kind == "INT" else "a"
        raise InvalidQuota(f"Proposed value for {key} is too large for {article} {kind}.")
    if value % 1.0 > _FRACTION_MAX:
        raise InvalidQuota(f"{key} cannot be a fractional value.")
