"""Where brokers listen and are reached: HOST:PORT, with the host in brackets where it is an IPv6 address."""

from typing import NamedTuple

PORT_MAX = 65_535
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared with, not listened on


class Address(NamedTuple):
    """A host and a port; `str` gives what was parsed."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read HOST:PORT; `ValueError` says what is wrong. How great the port may be is not looked at."""
        host, _, port = text.rpartition(":")
        bracketed = host.startswith("[") and host.endswith("]")
        if not host or (":" in host and not bracketed):
            raise ValueError(f"expected HOST:PORT, got {text!r}")
        if not port.isascii() or not port.isdigit():
            raise ValueError(f"expected a port from 1 to {PORT_MAX}, got {text!r}")
        return cls(host[1:-1] if bracketed else host, int(port))

    @property
    def is_everywhere(self) -> bool:
        """Whether it stands for all addresses of this machine, and so for none that one can connect to."""
        return self.host in _EVERYWHERE

    def later(self, steps: int) -> "Address":
        """Return the address so many ports further on; port 0, which stands for a free one, stays."""
        return Address(self.host, self.port and self.port + steps)


def parse_bootstrap(text: str) -> tuple[Address, ...]:
    """Read HOST:PORT, or several of them with commas between; `ValueError` says what is wrong."""
    found = tuple(Address.parse(one.strip()) for one in text.split(","))
    for address in found:
        if not 0 < address.port <= PORT_MAX:
            raise ValueError(f"expected a port from 1 to {PORT_MAX}, got '{address}'")
    return found
