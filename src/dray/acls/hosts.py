"""Hosts of clients and of ACL entries in one form, so that they can be compared as text.

Kafka compares the text of an entry with Java's form of the client's address (0:0:0:0:0:0:0:1). Here an entry
may use any form of an address. As in Kafka, names and networks (10.0.0.0/8) match no client.
"""

from ipaddress import IPv6Address, ip_address


def canonical_host(host: str) -> str:
    """Return the shortest form of an address, or text that is not an address unchanged.

    An IPv4 address inside an IPv6 address becomes IPv4: a socket for both families receives those.
    """
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(address)
