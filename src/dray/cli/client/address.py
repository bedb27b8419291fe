"""Where brokers listen."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_bootstrap(text: str) -> tuple[Address, ...]:
    """Read HOST:PORT, or several of them with commas between; `ValueError` says what is wrong."""
    return tuple(_parse(one.strip()) for one in text.split(","))


def _parse(text: str) -> Address:
    host, _, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not host or (":" in host and not bracketed):
        raise ValueError(f"expected HOST:PORT, got {text!r}")
    if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"expected a port from 1 to 65535, got {text!r}")
    return Address(host[1:-1] if bracketed else host, int(port))
