"""URLs of etcd clusters: `etcd://host:port,host:port/prefix`."""

import re
from dataclasses import dataclass
from typing import Final

ETCD: Final = "etcd://"
_FORM: Final = "etcd://HOST:PORT,HOST:PORT/PREFIX"
_ADDRESS: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")
_PREFIX: Final = re.compile(r"(/[A-Za-z0-9._-]+)+")


@dataclass(frozen=True, slots=True)
class EtcdUrl:
    """The members of an etcd cluster, and the prefix of all keys."""

    addresses: tuple[str, ...]
    prefix: str


def parse_etcd_url(text: str) -> EtcdUrl:
    """Parse a URL; raises `ValueError` with a user-facing message that never quotes credentials."""
    rest = text.removeprefix(ETCD)
    if rest == text:
        raise ValueError(f"expected {_FORM}")
    if "@" in rest:
        raise ValueError(
            "the URL of etcd contains a user name; remove it and set metadata.username and metadata.password"
        )
    hosts, slash, path = rest.partition("/")
    prefix = slash + path.rstrip("/")
    if not _PREFIX.fullmatch(prefix):
        raise ValueError(f"the URL {text!r} names no prefix for the keys; expected {_FORM}")
    addresses = tuple(hosts.split(","))
    for address in addresses:
        parsed = _ADDRESS.fullmatch(address)
        if parsed is None or not 1 <= int(parsed[2]) <= 65_535:
            raise ValueError(f"{address!r} in the URL {text!r} is not HOST:PORT; expected {_FORM}")
    return EtcdUrl(addresses, prefix)
