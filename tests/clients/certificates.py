"""The certificate that a broker presents."""

import socket
import ssl
from pathlib import Path


def serial_number(address: str, ca_file: Path) -> int:
    """Return the serial number of the certificate that a new connection gets."""
    host, _, port = address.rpartition(":")
    context = ssl.create_default_context(cafile=str(ca_file))
    plain = socket.create_connection((host, int(port)), 10)
    with context.wrap_socket(plain, server_hostname="localhost") as connected:
        certificate = connected.getpeercert()
    assert certificate is not None
    return int(str(certificate["serialNumber"]), 16)
