"""Free ports for servers that take no port of their own choice."""

import os
import socket
from collections.abc import Iterator
from itertools import chain
from typing import Final

_RANGE: Final = range(20_000, 30_000)
"""Below the ports that systems give to connections and to listeners that ask for any port."""

_given: set[int] = set()


def free_port() -> int:
    """Return a port that is free on the loopback address, another one each time."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Return consecutive ports that are free on the loopback address, others each time."""
    for first in _firsts(count):
        ports = range(first, first + count)
        if _given.isdisjoint(ports) and all(map(_is_free, ports)):
            _given.update(ports)
            return list(ports)
    raise OSError(f"no {count} consecutive ports of {_RANGE.start} to {_RANGE.stop} are free")


def _firsts(count: int) -> Iterator[int]:
    """Yield each candidate once, from a random one on: concurrent processes search elsewhere."""
    start = _RANGE.start + int.from_bytes(os.urandom(4)) % len(_RANGE)
    return chain(range(start, _RANGE.stop - count + 1), range(_RANGE.start, start))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
