"""HOST:PORT as text, with the host in brackets where it is an IPv6 address."""

PORT_MAX = 65_535
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared with, not listened on


def split_address(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def join_address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def later_address(address: str, steps: int) -> str:
    """Return the address so many ports further on; port 0, which stands for a free one, stays."""
    host, port = split_address(address)
    return join_address(host, port and port + steps)


def is_everywhere(address: str) -> bool:
    """Whether it stands for all addresses of this machine, and so for none that somebody can connect to."""
    return split_address(address)[0] in _EVERYWHERE
