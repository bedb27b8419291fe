"""Credentials of a client of Oxia: TLS, and a bearer token in the metadata of each call.

A token file is read again after a while and when a server refuses the token, because tokens of an OpenID
provider expire and their file is replaced.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dray.meta.grpc_tls import TlsFiles
from dray.meta.port import StoreUnusable
from dray.runtime import Clock

Headers = tuple[tuple[str, str], ...]
_READ_AGAIN_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class OxiaAccess:
    """TLS if there are files for it, and a token or the file of one."""

    tls: TlsFiles | None = None
    token: str | None = field(default=None, repr=False)
    token_file: str | None = None


class Tokens:
    """The headers of calls, with the present token if there is one."""

    def __init__(self, access: OxiaAccess, clock: Clock) -> None:
        if access.token is not None and access.token_file is not None:
            raise StoreUnusable("set either metadata.token or metadata.token_file, not both")
        self._path = access.token_file
        self._clock = clock
        self._headers: Headers = () if access.token is None else _headers(access.token)
        self._read_at: float | None = None

    @property
    def configured(self) -> bool:
        return bool(self._path or self._headers)

    def headers(self) -> Headers:
        """Return the headers of the next call; raises `StoreUnusable` if there is no token in the file."""
        now = self._clock.monotonic()
        if self._path is not None and (self._read_at is None or now - self._read_at >= _READ_AGAIN_S):
            self._headers, self._read_at = _headers(_read(self._path)), now
        return self._headers

    def renewed(self, refused: Headers) -> bool:
        """Return whether there is another token than the refused one."""
        self._read_at = None
        return self.headers() != refused


def _headers(token: str) -> Headers:
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable():
        raise StoreUnusable("metadata.token, or the content of metadata.token_file, is not a token")
    return (("authorization", f"Bearer {token}"),)


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise StoreUnusable(f"cannot read metadata.token_file, {path}: {error}") from error
