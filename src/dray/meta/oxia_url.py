"""URLs of Oxia namespaces: `oxia://host:port,host:port/namespace`."""

from dataclasses import dataclass
from typing import Final

OXIA: Final = "oxia://"
_FORM: Final = "oxia://HOST:PORT,HOST:PORT/NAMESPACE"
_DEFAULT_PORT: Final = "6648"


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
        raise ValueError(f"expected {_FORM}, got {text!r}")
    return OxiaUrl(addresses, namespace or "default")


def _with_port(host: str) -> str:
    has_port = ":" in host.rpartition("]")[2]
    return host if has_port else f"{host}:{_DEFAULT_PORT}"
