"""Names of the keys in Oxia.

Oxia sorts keys by their number of slashes, and below that a slash sorts after every other character (with
`--key-sorting natural` it sorts by bytes). The port's order is neither, so our keys contain no slash: then
every sorting is by bytes. `.` becomes `.0` and `/`, the next character of ASCII, becomes `.1`, which
preserves the order. The number of slashes precedes the key, so that a scan is one contiguous range.

    k<domain>!<slashes><key>           a key of the port
    h<domain>                          the head of a domain
    x<domain>!<session>!<key>          an ephemeral key, by its session
    s<session>                         a session; exists as long as it is alive
    b                                  never exists; deleting it is a barrier
    f                                  the version of this layout; see `namespace`
"""

from typing import Final

from dray.ids import Domain
from dray.meta.port import SessionId
from dray.meta.rules import depth

BARRIER: Final = "b"
EPHEMERAL_KEYS: Final = ("x", "y")
"""The range of all ephemeral keys of a shard."""

_DEPTH_DIGITS = 4
_DEPTH_MAX = 16**_DEPTH_DIGITS - 1


def data_prefix(domain: Domain) -> str:
    return f"k{_escape_name(domain)}!"


def data_range(domain: Domain) -> tuple[str, str]:
    """Return the bounds of all data keys of a domain; `"` follows `!` in ASCII. The first is their prefix."""
    return data_prefix(domain), f'k{_escape_name(domain)}"'


def data_key(domain: Domain, key: str) -> str:
    slashes = depth(key)
    if slashes > _DEPTH_MAX:
        raise ValueError(f"a key may have {_DEPTH_MAX} slashes, got {slashes}")
    return f"{data_prefix(domain)}{slashes:0{_DEPTH_DIGITS}x}{_escape(key)}"


def key_of(data_key: str, prefix: str) -> str:
    """Return the port's key of a data key with this `data_prefix`."""
    return _unescape(data_key[len(prefix) + _DEPTH_DIGITS :])


def head_key(domain: Domain) -> str:
    return f"h{_escape_name(domain)}"


def session_key(session: SessionId) -> str:
    return f"s{session}"


def ephemeral_key(domain: Domain, session: SessionId, key: str) -> str:
    return f"x{_escape_name(domain)}!{session}!{_escape(key)}"


def ephemeral_range(domain: Domain, session: SessionId) -> tuple[str, str]:
    """Return the bounds of the ephemeral keys of a session in a domain; `"` follows `!` in ASCII."""
    prefix = f"x{_escape_name(domain)}!{session}"
    return f"{prefix}!", f'{prefix}"'


def parse_ephemeral_key(name: str) -> tuple[Domain, SessionId, str]:
    domain, session, key = name[1:].split("!", 2)
    return Domain(_unescape(domain)), SessionId(session), _unescape(key)


def _escape(text: str) -> str:
    return text.replace(".", ".0").replace("/", ".1")


def _escape_name(domain: Domain) -> str:
    return _escape(domain).replace("!", ".2")


def _unescape(text: str) -> str:
    return text.replace(".2", "!").replace(".1", "/").replace(".0", ".")
