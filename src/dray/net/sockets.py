"""Sockets of listeners: binding them, why that fails, and what a client has received."""

import asyncio
import errno
import os
import socket
from collections.abc import Sequence
from struct import Struct
from typing import Final

_REMEDIES: Final = {
    errno.EADDRINUSE: "address already in use; stop the process that uses it, or choose another address",
    errno.EADDRNOTAVAIL: "not an address of this machine; choose one that is, or 0.0.0.0 for all",
    errno.EACCES: "permission denied; choose a port above 1023, or another address",
}
_ACKNOWLEDGED: Final = Struct("=Q")
_ACKNOWLEDGED_AT: Final = 120
"""The place of `tcpi_bytes_acked` in Linux's `struct tcp_info`."""


class CannotListen(Exception):
    """The address cannot be listened on; the message says which and why."""


def bound_socket(family: int, address: Sequence[str | int]) -> socket.socket:
    """Return a socket that is bound and does not listen yet."""
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.settimeout(0)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(tuple(address))
    except OSError:
        made.close()
        raise
    return made


def bind_error_message(error: OSError, host: str, port: int, purpose: str = "") -> str:
    """Return one sentence about an address that cannot be listened on, with a remedy.

    Event loops wrap the system's message, each in its own way; the error number is the same in all of them.
    """
    shown = (f"[{host}]:{port}" if ":" in host else f"{host}:{port}") + purpose
    if isinstance(error, socket.gaierror):
        return f"cannot listen on {shown}: unknown host name ({error.strerror}); choose another address"
    reason = _REMEDIES.get(error.errno or 0)
    if reason is None:
        message = os.strerror(error.errno) if error.errno else str(error)
        reason = f"{message}; choose another address"
    return f"cannot listen on {shown}: {reason}"


def acknowledged_bytes(transport: asyncio.Transport) -> int:
    """Return how many bytes the client's system has received; 0 where the system does not say."""
    connection = transport.get_extra_info("socket")
    if connection is None:
        return 0
    size = _ACKNOWLEDGED_AT + _ACKNOWLEDGED.size
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, size)
    return int(_ACKNOWLEDGED.unpack_from(info, _ACKNOWLEDGED_AT)[0]) if len(info) == size else 0
