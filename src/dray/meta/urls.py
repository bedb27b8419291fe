"""URLs of networked metadata stores: `etcd://host:port,host:port/prefix` and `oxia://host:port/namespace`."""

import re
from dataclasses import dataclass
from typing import Final

ETCD: Final = "etcd://"
OXIA: Final = "oxia://"
_ETCD_FORM: Final = "etcd://HOST:PORT,HOST:PORT/PREFIX"
_ADDRESS: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")
_PREFIX: Final = re.compile(r"(/[A-Za-z0-9._-]+)+")
_OXIA_FORM: Final = "oxia://HOST:PORT,HOST:PORT/NAMESPACE"
_OXIA_PORT: Final = "6648"


@dataclass(frozen=True, slots=True)
class EtcdUrl:
    """The members of an etcd cluster, and the prefix of all keys."""

    addresses: tuple[str, ...]
    prefix: str


def parse_etcd_url(text: str) -> EtcdUrl:
    """Parse a URL; raises `ValueError` with a user-facing message that never quotes credentials."""
    rest = text.removeprefix(ETCD)
    if rest == text:
        raise ValueError(f"expected {_ETCD_FORM}")
    if "@" in rest:
        raise ValueError(
            "the URL of etcd contains a user name; remove it and set metadata.username and metadata.password"
        )
    hosts, slash, path = rest.partition("/")
    prefix = slash + path.rstrip("/")
    if not _PREFIX.fullmatch(prefix):
        raise ValueError(f"the URL {text!r} names no prefix for the keys; expected {_ETCD_FORM}")
    addresses = tuple(hosts.split(","))
    for address in addresses:
        parsed = _ADDRESS.fullmatch(address)
        if parsed is None or not 1 <= int(parsed[2]) <= 65_535:
            raise ValueError(f"{address!r} in the URL {text!r} is not HOST:PORT; expected {_ETCD_FORM}")
    return EtcdUrl(addresses, prefix)


@dataclass(frozen=True, slots=True)
class OxiaUrl:
    """Servers of an Oxia cluster, and the namespace of all keys."""

    addresses: tuple[str, ...]
    namespace: str


def parse_oxia_url(text: str) -> OxiaUrl:
    """Parse a URL; raises `ValueError` with a user-facing message."""
    hosts, _, namespace = text.removeprefix(OXIA).partition("/")
    addresses = tuple(_with_port(host.strip()) for host in hosts.split(",") if host.strip())
    if not text.startswith(OXIA) or not addresses or "/" in namespace:
        raise ValueError(f"expected {_OXIA_FORM}, got {text!r}")
    return OxiaUrl(addresses, namespace or "default")


def _with_port(host: str) -> str:
    has_port = ":" in host.rpartition("]")[2]
    return host if has_port else f"{host}:{_OXIA_PORT}"
