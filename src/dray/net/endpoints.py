"""Listeners as settings name them: addresses, advertised addresses and security protocols. Pure.

    HOST:PORT                                    one listener, PLAINTEXT
    SSL://HOST:PORT,INTERNAL://HOST:PORT         several, by name (Kafka: `listeners`)

A listener whose name is that of a protocol has this protocol; any other needs an entry in the map of
protocols (`INTERNAL:SASL_SSL`). Names are case-insensitive, as in Kafka, and kept in upper case.

Every error is a `ValueError` with a sentence.
"""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, Self

from dray.cluster.addresses import PORT_MAX, Address
from dray.cluster.brokers import PLAINTEXT

_NAMED: Final = "://"
_HTTPS: Final = "https"
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)


class Protocol(StrEnum):
    """A security protocol, by Kafka's name."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def uses_tls(self) -> bool:
        return self in (Protocol.SSL, Protocol.SASL_SSL)

    @property
    def uses_sasl(self) -> bool:
        return self in (Protocol.SASL_PLAINTEXT, Protocol.SASL_SSL)


class HttpAddress(NamedTuple):
    """The address of an HTTP endpoint, written as HOST:PORT or https://HOST:PORT."""

    address: Address
    uses_tls: bool = False

    @classmethod
    def parse(cls, text: str) -> Self:
        scheme, _, address = text.rpartition(_NAMED)
        return cls(Address.parse(address), scheme == _HTTPS)

    def __str__(self) -> str:
        return f"{_HTTPS}{_NAMED}{self.address}" if self.uses_tls else str(self.address)

    @property
    def is_exposed(self) -> bool:
        """Whether other machines may connect without encryption."""
        return not self.uses_tls and not is_loopback(self.address.host)


@dataclass(frozen=True, slots=True)
class ListenerPlan:
    """A listener of the settings."""

    name: str
    protocol: Protocol
    listen: Address
    advertise: Address | None
    """None: clients connect to the address that it listens on."""

    @property
    def is_exposed(self) -> bool:
        """Whether other machines may connect without encryption."""
        return not self.protocol.uses_tls and not is_loopback(self.listen.host)


def plan_listeners(listen: str, advertise: str | None, protocols: str | None) -> tuple[ListenerPlan, ...]:
    """Return the listeners that three settings describe, in the order of the first."""
    addresses = _checked(parse_addresses(listen, "listen"), "listen")
    _check_distinct(addresses)
    advertised = _advertised(advertise, addresses)
    chosen = parse_protocols(protocols)
    unknown = sorted(chosen.keys() - addresses.keys())
    if unknown:
        raise ValueError(f"listener_protocols names {unknown[0]}, which is not a listener of listen")
    return tuple(_plan(name, address, advertised.get(name), chosen) for name, address in addresses.items())


def parse_addresses(text: str, key: str) -> dict[str, Address]:
    """Parse HOST:PORT or NAME://HOST:PORT,…; ports are not checked."""
    if _NAMED not in text:
        return {PLAINTEXT: Address.parse(text.strip())}
    found: dict[str, Address] = {}
    for part in text.split(","):
        name, named, address = part.strip().partition(_NAMED)
        if not named or not _NAME.fullmatch(name):
            raise ValueError(f"{key}: expected NAME://HOST:PORT, got {part.strip()!r}")
        if name.upper() in found:
            raise ValueError(f"{key} names the listener {name.upper()} twice")
        found[name.upper()] = Address.parse(address)
    return found


def parse_protocols(text: str | None) -> dict[str, Protocol]:
    """Parse NAME:PROTOCOL,… (Kafka: `listener.security.protocol.map`)."""
    return {name: _protocol(name, value) for name, value in parse_by_listener(text or "").items()}


def parse_by_listener(text: str) -> dict[str, str]:
    """Parse NAME:VALUE,… by listener; an empty text has no entries."""
    found: dict[str, str] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, colon, value = (part.strip() for part in pair.partition(":"))
        if not colon or not value or not _NAME.fullmatch(name):
            raise ValueError(f"expected NAME:VALUE, got {pair!r}")
        if name.upper() in found:
            raise ValueError(f"{name.upper()} is there twice in {text!r}")
        found[name.upper()] = value
    return found


def written(addresses: Mapping[str, Address]) -> str:
    """Return the text that `parse_addresses` reads."""
    if list(addresses) == [PLAINTEXT]:
        return str(addresses[PLAINTEXT])
    return ",".join(f"{name}{_NAMED}{address}" for name, address in addresses.items())


def with_port_offset(text: str, key: str, offset: int) -> str:
    """Return the addresses of a setting with every port plus `offset`."""
    found = parse_addresses(text, key)
    return written({name: address.with_port_offset(offset) for name, address in found.items()})


def is_loopback(host: str) -> bool:
    """Return whether only this machine can connect; of names only `localhost` is known to be such."""
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _plan(
    name: str, address: Address, advertise: Address | None, protocols: Mapping[str, Protocol]
) -> ListenerPlan:
    if (advertise or address).is_wildcard:
        raise ValueError(
            f"clients cannot connect to {advertise or address}; set advertise (--advertise) to "
            "the address at which they reach this broker"
        )
    return ListenerPlan(name, protocols.get(name) or _protocol(name, name), address, advertise)


def _protocol(name: str, text: str) -> Protocol:
    try:
        return Protocol(text.upper())
    except ValueError:
        known = ", ".join(Protocol)
        if name == text:
            raise ValueError(
                f"listener {name} has no protocol; set listener_protocols to {name}: and one of {known}"
            ) from None
        raise ValueError(f"unknown protocol {text!r} of listener {name}; expected one of {known}") from None


def _advertised(text: str | None, listeners: Mapping[str, Address]) -> dict[str, Address]:
    if text is None:
        return {}
    found = parse_addresses(text, "advertise")
    if _NAMED not in text and len(listeners) == 1:
        found = dict(zip(listeners, found.values(), strict=True))
    elif _NAMED not in text:
        raise ValueError(f"advertise {text} must name its listener, as there are several: NAME://HOST:PORT")
    unknown = sorted(found.keys() - listeners.keys())
    if unknown:
        raise ValueError(f"advertise names {unknown[0]}, which is not a listener of listen")
    return _checked(found, "advertise")


def _checked(addresses: dict[str, Address], key: str) -> dict[str, Address]:
    for address in addresses.values():
        if address.port > PORT_MAX:
            raise ValueError(f"{key} {address} has an invalid port; the highest is {PORT_MAX}")
    return addresses


def _check_distinct(addresses: Mapping[str, Address]) -> None:
    """Refuse two listeners on one port, unless on different addresses of this machine."""
    listed: Sequence[tuple[str, Address]] = list(addresses.items())
    for number, (name, address) in enumerate(listed):
        for other_name, other in listed[:number]:
            overlap = address.host == other.host or address.is_wildcard or other.is_wildcard
            if address.port and address.port == other.port and overlap:
                raise ValueError(f"listeners {other_name} and {name} have the same port, {address.port}")
