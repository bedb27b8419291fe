"""Precedence of quotas: which limit counts for a client, and with whom it shares it.

The most specific entity that has a limit wins; a user is more specific than a client id:

    user + client id, user + default client id, user,
    default user + client id, default user + default client id, default user,
    client id, default client id

A limit set for a user is shared by all its clients, one set for a client id by all users. A default is a
limit for each user or client that it applies to, not for all of them together.
"""

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final, NamedTuple

from dray.quotas.entities import CLIENT_ID, IP, USER, Entity

_ASSIGNED_BITS: Final = 64


class Share(NamedTuple):
    """A limit, and the clients whose usage counts together."""

    user: str
    """Empty for clients of all users."""
    client_id: str
    """Empty for all clients of the user."""
    limit: float


def share_of(limits: Mapping[Entity, float], user: str, client_id: str) -> Share | None:
    """Return what limits this client, of the limits of one key; None if nothing does.

    A client without an id is subject to limits of its user only, as in Kafka.
    """
    for entity, whole_user, any_user in _candidates(user, client_id):
        limit = limits.get(entity)
        if limit is not None:
            return Share("" if any_user else user, "" if whole_user else client_id, limit)
    return None


def _candidates(user: str, client_id: str) -> list[tuple[Entity, bool, bool]]:
    """Return entities in order, with whether all clients of the user share, and whether all users do."""
    clients = [client_id, None] if client_id else []
    found: list[tuple[Entity, bool, bool]] = []
    for name in (user, None):
        found += [(Entity.of({USER: name, CLIENT_ID: client}), False, False) for client in clients]
        found.append((Entity.of({USER: name}), True, False))
    return found + [(Entity.of({CLIENT_ID: client}), False, True) for client in clients]


class AddressShare(NamedTuple):
    """A limit of connections, and the addresses whose connections count together."""

    network: str
    limit: float


def address_share_of(limits: Mapping[Entity, float], address: str) -> AddressShare | None:
    """Return what limits an IP address, of the limits of one key.

    An address with a limit of its own shares it with none. Addresses that the default applies to have a limit
    each; those of IPv6 share it with their network, because one client may use any address of it.
    """
    plain = _plain(address)
    for entity, limit in limits.items():
        name = entity.names.get(IP)
        if name is not None and _plain(name) == plain:
            return AddressShare(str(plain), limit)
    default = limits.get(Entity.of({IP: None}))
    return None if default is None else AddressShare(network_of(address), default)


def network_of(address: str) -> str:
    """Return an IPv4 address, or the /64 of an IPv6 address: the smallest network that is assigned."""
    plain = _plain(address)
    if isinstance(plain, IPv4Address):
        return str(plain)
    return str(IPv6Network((plain, _ASSIGNED_BITS), strict=False))


def _plain(address: str) -> IPv4Address | IPv6Address:
    """Parse an address; one of IPv4 that is written as one of IPv6 is that of IPv4."""
    parsed = ip_address(address)
    return getattr(parsed, "ipv4_mapped", None) or parsed
