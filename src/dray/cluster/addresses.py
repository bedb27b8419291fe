"""Addresses as HOST:PORT, with an IPv6 host in brackets."""

from typing import NamedTuple

PORT_MAX = 65_535
_WILDCARDS = ("0.0.0.0", "::")  # noqa: S104 - compared with, not listened on


class Address(NamedTuple):
    """A host and a port; `str` gives the text that `parse` reads."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parse HOST:PORT; raises `ValueError`. The range of the port is not checked."""
        host, _, port = text.rpartition(":")
        bracketed = host.startswith("[") and host.endswith("]")
        if not host or (":" in host and not bracketed):
            raise ValueError(f"expected HOST:PORT, got {text!r}")
        if not port.isascii() or not port.isdigit():
            raise ValueError(f"expected a port from 1 to {PORT_MAX}, got {text!r}")
        return cls(host[1:-1] if bracketed else host, int(port))

    @property
    def is_wildcard(self) -> bool:
        """Whether it means all addresses of this machine, so that no client can connect to it."""
        return self.host in _WILDCARDS

    def with_port_offset(self, offset: int) -> "Address":
        """Return the address with the port plus `offset`; port 0, which means a free one, stays."""
        return Address(self.host, self.port and self.port + offset)


def parse_bootstrap(text: str) -> tuple[Address, ...]:
    """Parse a comma-separated list of HOST:PORT; raises `ValueError`."""
    found = tuple(Address.parse(one.strip()) for one in text.split(","))
    for address in found:
        if not 0 < address.port <= PORT_MAX:
            raise ValueError(f"expected a port from 1 to {PORT_MAX}, got '{address}'")
    return found
