"""The keys of the store in etcd.

    <prefix>/format                            version of this layout; its absence marks a foreign prefix
    <prefix>/k/<domain>/<depth>/<key>          an entry; `depth` is the key's number of slashes, three digits
    <prefix>/w/<client>/<number>               a commit slot (see `slots`)
    <prefix>/compaction                        the clients' agreement on who compacts (see `history`)

The domain is percent-encoded, so it contains no slash. A scan of the port, which covers one depth, is then
one contiguous range of etcd in byte order, and a domain is one contiguous range to watch.
"""

from typing import Final
from urllib.parse import quote

from dray.ids import Domain
from dray.meta.rules import depth

FORMAT: Final = 1
_DEPTH_DIGITS: Final = 3


class Layout:
    """The keys under one prefix."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.format = f"{prefix}/format".encode()
        self.compaction = f"{prefix}/compaction".encode()
        self.everything = (f"{prefix}/".encode(), f"{prefix}0".encode())
        self._domains: dict[Domain, bytes] = {}

    def entry(self, domain: Domain, key: str) -> bytes:
        return self._entries(domain, depth(key)) + key.encode()

    def scan(self, domain: Domain, start: str, end: str) -> tuple[bytes, bytes]:
        entries = self._entries(domain, depth(start))
        return entries + start.encode(), entries + end.encode()

    def domain(self, domain: Domain) -> tuple[bytes, bytes]:
        """Return the range of all entries of a domain."""
        base = self._domain(domain)
        return base + b"/", base + b"0"

    def key(self, domain: Domain, entry: bytes) -> str:
        """Return the key of an entry."""
        return entry[len(self._domain(domain)) + _DEPTH_DIGITS + 2 :].decode()

    def slot(self, client: str, number: int) -> bytes:
        return f"{self.prefix}/w/{client}/{number}".encode()

    def overhead(self) -> int:
        """Return how many bytes an operation has besides its key and value, for domains of usual length."""
        return len(self.prefix) + 80

    def _domain(self, domain: Domain) -> bytes:
        known = self._domains.get(domain)
        if known is None:
            known = self._domains[domain] = f"{self.prefix}/k/{quote(domain, safe='')}".encode()
        return known

    def _entries(self, domain: Domain, slashes: int) -> bytes:
        if slashes >= 10**_DEPTH_DIGITS:
            raise ValueError(f"a key may have {10**_DEPTH_DIGITS - 1} slashes, got {slashes}")
        return self._domain(domain) + b"/%03d/" % slashes
